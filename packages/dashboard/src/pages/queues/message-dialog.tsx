/** Dialog with one message: its events, and its body while it is in progress. */
import { useState } from 'react';
import { path } from '../../api/client.js';
import { usePermissions } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { CopyId } from '../../components/copy-id.js';
import { DescriptionList } from '../../components/description-list.js';
import { DialogClose, DialogWindow } from '../../components/dialogs.js';
import { JsonView } from '../../components/json-view.js';
import { NotLoaded } from '../../components/loading/loaded.js';
import { EmptyState } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { hasEnded, MESSAGE_STATES } from './latest-events.js';
import type { EventPage, MessageDetail, MessageEvent } from './shapes.js';

export interface MessageDialogProps {
  readonly messageId: string;
  readonly onClose: () => void;
}

const MAX_EVENTS = 1000;

export function MessageDialog({ messageId, onClose }: MessageDialogProps) {
  const { readOnlyReason } = usePermissions();
  const change = useChange();
  const [busy, setBusy] = useState(false);
  const log = useApi<EventPage>({
    topic: 'runs',
    name: 'message-events',
    url: '/v2/logs',
    query: { messageId, count: MAX_EVENTS },
  });
  const latestEvent = log.data?.logs[0];
  const isActive = latestEvent !== undefined && !hasEnded(latestEvent.state);
  const details = useApi<MessageDetail>({
    topic: 'runs',
    name: 'message',
    url: path`/v2/messages/${messageId}`,
    enabled: isActive,
  });
  const cancel = async () => {
    setBusy(true);
    await change({
      method: 'DELETE',
      url: path`/v2/messages/${messageId}`,
      topics: ['runs', 'queues'],
      successText: 'Canceled the message',
      showFailure: true,
    });
    setBusy(false);
  };
  return (
    <DialogWindow
      title="Message"
      open
      onClose={onClose}
      wide
      actions={
        <>
          {isActive ? (
            <ActionButton variant="danger" disabledReason={readOnlyReason} busy={busy} onClick={cancel}>
              Cancel message
            </ActionButton>
          ) : null}
          <DialogClose>Close</DialogClose>
        </>
      }
    >
      {log.data === undefined ? (
        <NotLoaded query={log} lines={6} />
      ) : latestEvent === undefined ? (
        <EmptyState title="Message not found">The id is wrong, or the log of the message has expired.</EmptyState>
      ) : (
        <div className="stack">
          <DescriptionList
            items={[
              ['ID', <CopyId key="id" value={messageId} valueName="message id" />],
              ['Destination', <CopyId key="url" value={latestEvent.url} valueName="URL" />],
              ['Method', latestEvent.method],
              ['Queue', latestEvent.queueName],
              ['URL group', latestEvent.topicName],
              ['Schedule', latestEvent.scheduleId],
              ['Labels', latestEvent.labels?.join(', ')],
              ['Flow control key', latestEvent.flowControlKey],
              ['Max attempts', countText(latestEvent.maxRetries + 1)],
            ]}
          />
          {details.data?.body === undefined || !isActive ? null : (
            <JsonView text={details.data.body} label="Body of the message" />
          )}
          <Events events={log.data.logs} />
        </div>
      )}
    </DialogWindow>
  );
}

function Events({ events }: { readonly events: readonly MessageEvent[] }) {
  return (
    <table className="message-events" aria-label="Events">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Event</th>
          <th scope="col">Result</th>
        </tr>
      </thead>
      <tbody>
        {events.map(({ time, state, error, responseStatus, nextDeliveryTime }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two events can have the same millisecond, and none is inserted in between
          <tr key={`${events.length - index}`}>
            <td>
              <TimeText unixMs={time} />
            </td>
            <td>
              <StatusBadge tone={MESSAGE_STATES[state].tone}>{MESSAGE_STATES[state].text}</StatusBadge>
            </td>
            <td>
              {error ?? (responseStatus === undefined ? null : `HTTP ${responseStatus}`)}
              {nextDeliveryTime === undefined ? null : (
                <>
                  {error === undefined && responseStatus === undefined ? '' : ' · '}
                  Next attempt <TimeText unixMs={nextDeliveryTime} />
                </>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
