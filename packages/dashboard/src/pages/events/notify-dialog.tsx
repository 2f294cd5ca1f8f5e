/** Dialog that sends an event. It shows first how many runs are waiting for it. */
import { useState } from 'react';
import type { NotifiedWaiter, Waiter } from '../../../../everstep/src/contract/events.js';
import { path } from '../../api/client.js';
import type { Outcome } from '../../api/outcome.js';
import { useApi, useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextArea, TextField } from '../../components/fields.js';
import { quantity } from '../../components/times/formats.js';
import { toastSuccess } from '../../components/toasts.js';
import { readEventData } from './event-data.js';

export interface NotifyDialogProps {
  readonly eventId: string;
  readonly onClose: () => void;
}

export function NotifyDialog({ eventId: initialEventId, onClose }: NotifyDialogProps) {
  const [eventId, setEventId] = useState(initialEventId);
  const [data, setData] = useState('');
  const change = useChange();
  const waiters = useApi<readonly Waiter[]>({
    topic: 'runs',
    name: 'waiters-of-event',
    url: path`/v2/waiters/${eventId}`,
    enabled: eventId !== '',
  });
  const eventData = readEventData(data);
  const notify = async (): Promise<Outcome<unknown>> => {
    const outcome = await change<readonly NotifiedWaiter[]>({
      method: 'POST',
      url: path`/v2/notify/${eventId}`,
      topics: ['runs'],
      ...(eventData.ok && eventData.body !== undefined
        ? { body: eventData.body, headers: { 'content-type': 'application/json' } }
        : {}),
    });
    if (outcome.ok)
      toastSuccess(
        outcome.value.length === 0
          ? `No runs were waiting for ${eventId}`
          : `Sent ${eventId} to ${quantity(outcome.value.length, 'run')}`,
      );
    return outcome;
  };
  const count = waiters.data?.length;
  return (
    <ConfirmDialog
      title="Send event"
      open
      onClose={onClose}
      confirmText={count === undefined || count === 0 ? 'Send event' : `Send event to ${quantity(count, 'run')}`}
      disabled={eventId === '' || !eventData.ok}
      onConfirm={notify}
    >
      <TextField label="Event id" value={eventId} onChange={setEventId} />
      <p role="status">
        {eventId === ''
          ? 'Enter an event id to see how many runs are waiting for it.'
          : count === undefined
            ? 'Counting waiting runs…'
            : count === 0
              ? 'No runs are waiting for this event, so sending it has no effect.'
              : `${quantity(count, 'run is', 'runs are')} waiting for this event and will continue with the data. This cannot be undone.`}
      </p>
      <TextArea
        label="Data (JSON, optional)"
        problem={eventData.ok ? null : eventData.problem}
        mono
        rows={6}
        spellCheck={false}
        value={data}
        onChange={setData}
      />
    </ConfirmDialog>
  );
}
