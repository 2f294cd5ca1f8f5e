/** Lists queues with their parallelism, state and number of waiting messages. */
import { useId, useState } from 'react';
import { path } from '../../api/client.js';
import { useCompleteList } from '../../api/complete-list.js';
import { usePermissions } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { EmptyState } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { CompleteListView } from '../../components/tables/complete-list-view.js';
import type { Column } from '../../components/tables/data-table.js';
import { countText, quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { changedSettings } from './queue-change.js';
import type { QueueRow } from './shapes.js';

const REFRESH_MS = 5_000;
const idOf = ({ name }: QueueRow): string => name;

/** The open dialog. The kind `new` creates a queue. */
type OpenDialog = { readonly kind: 'new' } | { readonly kind: 'edit' | 'delete'; readonly queue: QueueRow };

export function QueuesList() {
  const heading = useId();
  const { canWrite, readOnlyReason } = usePermissions();
  const change = useChange();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const queues = useApi<readonly QueueRow[]>({
    topic: 'queues',
    name: 'list',
    url: '/v2/queues',
    refreshMs: REFRESH_MS,
  });
  const list = useCompleteList({ topic: 'queues', rows: queues.data, readAt: queues.dataUpdatedAt, idOf });
  const togglePause = ({ name, paused }: QueueRow) =>
    void change({
      method: 'POST',
      url: path`/v2/queues/${name}/${paused ? 'resume' : 'pause'}`,
      topics: ['queues'],
      successText: paused ? `Resumed queue ${name}` : `Paused queue ${name}. Messages in flight are still delivered.`,
      showFailure: true,
    });
  const columns: readonly Column<QueueRow>[] = [
    {
      id: 'state',
      header: 'State',
      width: '96px',
      stackUnder: 'name',
      cell: ({ paused }) =>
        paused ? <StatusBadge tone="warn">Paused</StatusBadge> : <StatusBadge tone="good">Active</StatusBadge>,
    },
    {
      id: 'name',
      header: 'Queue',
      sortBy: ({ name }) => name,
      width: 'minmax(0, 3fr)',
      cell: ({ name }) => (
        <div className="clip mono" title={name}>
          {name}
        </div>
      ),
    },
    { id: 'lag', header: 'Waiting', sortBy: ({ lag }) => lag, width: '80px', align: 'right', cell: ({ lag }) => countText(lag) },
    {
      id: 'parallelism',
      header: 'Parallelism',
      sortBy: ({ parallelism }) => parallelism,
      width: '96px',
      align: 'right',
      shownFrom: 'medium',
      cell: ({ parallelism }) => countText(parallelism),
    },
    {
      id: 'updated',
      header: 'Updated',
      sortBy: ({ updatedAt }) => updatedAt,
      width: '118px',
      shownFrom: 'wide',
      cell: ({ updatedAt }) => <TimeText unixMs={updatedAt} />,
    },
    {
      id: 'pause',
      header: 'Actions',
      width: '84px',
      align: 'right',
      cell: (queue) => (
        <ActionButton
          small
          aria-label={`${queue.paused ? 'Resume' : 'Pause'} ${queue.name}`}
          disabledReason={readOnlyReason}
          onClick={() => togglePause(queue)}
        >
          {queue.paused ? 'Resume' : 'Pause'}
        </ActionButton>
      ),
    },
    {
      id: 'actions',
      header: 'More actions',
      width: '148px',
      align: 'right',
      shownFrom: 'medium',
      cell: (queue) => (
        <span className="row-buttons">
          <ActionButton
            small
            aria-label={`Edit ${queue.name}`}
            disabledReason={readOnlyReason}
            onClick={() => setDialog({ kind: 'edit', queue })}
          >
            Edit
          </ActionButton>
          <ActionButton
            variant="danger"
            small
            aria-label={`Delete ${queue.name}`}
            disabledReason={readOnlyReason}
            onClick={() => setDialog({ kind: 'delete', queue })}
          >
            Delete
          </ActionButton>
        </span>
      ),
    },
  ];
  return (
    <section className="queues-section" aria-labelledby={heading}>
      <div className="section-head">
        <h2 id={heading}>Queues</h2>
        <ActionButton disabledReason={readOnlyReason} onClick={() => setDialog({ kind: 'new' })}>
          New queue
        </ActionButton>
      </div>
      <CompleteListView
        label="Queues"
        rowsName="queues"
        query={queues}
        list={list}
        columns={columns}
        idOf={idOf}
        {...(canWrite ? { onOpen: (queue: QueueRow) => setDialog({ kind: 'edit', queue }) } : {})}
        empty={<EmptyState title="No queues">Enqueue a message or select New queue to create one.</EmptyState>}
      />
      {dialog === null ? null : dialog.kind === 'new' ? (
        <QueueDialog queue={null} onClose={close} />
      ) : dialog.kind === 'edit' ? (
        <QueueDialog queue={dialog.queue} onClose={close} />
      ) : (
        <ConfirmDialog
          title={`Delete queue ${dialog.queue.name}?`}
          open
          onClose={close}
          confirmText={dialog.queue.lag === 0 ? 'Delete queue' : `Delete queue and ${quantity(dialog.queue.lag, 'message')}`}
          danger
          onConfirm={() =>
            change({
              method: 'DELETE',
              url: path`/v2/queues/${dialog.queue.name}`,
              topics: ['queues', 'runs'],
              successText: `Deleted queue ${dialog.queue.name}`,
            })
          }
        >
          <p>
            {dialog.queue.lag === 0
              ? 'The queue contains no messages.'
              : `${quantity(dialog.queue.lag, 'message')} in the queue will never be sent.`}{' '}
            This cannot be undone. To stop the queue temporarily, pause it instead.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

const MIN_PARALLELISM = 1;

function QueueDialog({ queue, onClose }: { readonly queue: QueueRow | null; readonly onClose: () => void }) {
  const pausedId = useId();
  const [name, setName] = useState(queue?.name ?? '');
  const [parallelism, setParallelism] = useState(String(queue?.parallelism ?? MIN_PARALLELISM));
  const [isPaused, setIsPaused] = useState(queue?.paused ?? false);
  const change = useChange();
  const count = Number(parallelism);
  const isValid = Number.isInteger(count) && count >= MIN_PARALLELISM;
  const settings = changedSettings(queue, { parallelism: count, paused: isPaused });
  return (
    <ConfirmDialog
      title={queue === null ? 'New queue' : `Edit queue ${queue.name}`}
      open
      onClose={onClose}
      confirmText={queue === null ? 'Create queue' : 'Save queue'}
      disabled={name.trim() === '' || !isValid || Object.keys(settings).length === 0}
      onConfirm={() =>
        change({
          method: 'POST',
          url: '/v2/queues',
          body: { queueName: name.trim(), ...settings },
          topics: ['queues'],
          successText: queue === null ? `Created queue ${name.trim()}` : `Saved queue ${name}`,
        })
      }
    >
      {queue === null ? (
        <TextField
          label="Name"
          mono
          placeholder="Letters, digits, hyphens, periods, underscores"
          value={name}
          onChange={setName}
        />
      ) : null}
      <TextField
        label="Parallelism (1 delivers messages in order)"
        type="number"
        min={MIN_PARALLELISM}
        value={parallelism}
        aria-invalid={!isValid}
        onChange={setParallelism}
      />
      <label className="line" htmlFor={pausedId}>
        <input id={pausedId} type="checkbox" checked={isPaused} onChange={(event) => setIsPaused(event.target.checked)} />
        Paused (accepts messages but sends none)
      </label>
    </ConfirmDialog>
  );
}
