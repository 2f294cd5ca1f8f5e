/** One message: what happened to it, and what is in it while it is under way. */
import { useState } from 'react';
import { path } from '../../api/client.js';
import { useMay } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { CopyId } from '../../components/copy-id.js';
import { DeedButton } from '../../components/deed-button.js';
import { DialogClose, DialogWindow } from '../../components/dialogs.js';
import { Facts } from '../../components/facts.js';
import { countText } from '../../components/formats.js';
import { JsonView } from '../../components/json-view.js';
import { EmptyState, FailureNotice, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { TimeText } from '../../components/time-text.js';
import { hasEnded, STATE_WORDS } from './latest.js';
import type { EventPage, MessageDetail, MessageEvent } from './shapes.js';

export interface MessageWindowProps {
  readonly messageId: string;
  readonly onClose: () => void;
}

const EVENTS_MOST = 1000;

export function MessageWindow({ messageId, onClose }: MessageWindowProps) {
  const { readOnly } = useMay();
  const change = useChange();
  const [busy, setBusy] = useState(false);
  const { data, error, isPending, refetch } = useApi<EventPage>({
    topic: 'runs',
    name: 'message-events',
    url: '/v2/logs',
    query: { messageId, count: EVENTS_MOST },
  });
  const last = data?.logs[0];
  const underWay = last !== undefined && !hasEnded(last.state);
  const detail = useApi<MessageDetail>({
    topic: 'runs',
    name: 'message',
    url: path`/v2/messages/${messageId}`,
    enabled: underWay,
  });
  const cancel = async () => {
    setBusy(true);
    await change({
      method: 'DELETE',
      url: path`/v2/messages/${messageId}`,
      topics: ['runs', 'queues'],
      done: 'The message is canceled',
      tellFailure: true,
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
          {underWay ? (
            <DeedButton look="danger" off={readOnly} busy={busy} onClick={cancel}>
              Cancel this message
            </DeedButton>
          ) : null}
          <DialogClose>Close</DialogClose>
        </>
      }
    >
      {isPending ? (
        <Skeleton lines={6} />
      ) : error && !data ? (
        <FailureNotice failure={error} onRetry={() => void refetch()} />
      ) : last === undefined ? (
        <EmptyState title="There is no such message">It was never there, or its log is not kept any longer.</EmptyState>
      ) : (
        <div className="stack">
          <Facts
            facts={[
              ['Id', <CopyId key="id" value={messageId} what="message id" />],
              ['To', <CopyId key="url" value={last.url} what="URL" />],
              ['Method', last.method],
              ['Queue', last.queueName],
              ['URL group', last.topicName],
              ['Schedule', last.scheduleId],
              ['Labels', last.labels?.join(', ')],
              ['Flow control key', last.flowControlKey],
              ['Attempts at most', countText(last.maxRetries + 1)],
            ]}
          />
          {detail.data?.body === undefined || !underWay ? null : <JsonView text={detail.data.body} label="Body of the message" />}
          <Events events={data?.logs ?? []} />
        </div>
      )}
    </DialogWindow>
  );
}

function Events({ events }: { readonly events: readonly MessageEvent[] }) {
  return (
    <table className="message-events" aria-label="What happened">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">What</th>
          <th scope="col">How it went</th>
        </tr>
      </thead>
      <tbody>
        {events.map(({ time, state, error, responseStatus, nextDeliveryTime }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two things can happen in one millisecond, and none is put in between
          <tr key={`${events.length - index}`}>
            <td>
              <TimeText unixMs={time} />
            </td>
            <td>
              <StatusBadge tone={STATE_WORDS[state].tone}>{STATE_WORDS[state].text}</StatusBadge>
            </td>
            <td>
              {error ?? (responseStatus === undefined ? null : `Status ${responseStatus}`)}
              {nextDeliveryTime === undefined ? null : (
                <>
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
