/** Queues: how many messages each sends at a time, whether it is paused, and how many wait in it. */
import { useId, useState } from 'react';
import { path } from '../../api/client.js';
import { useMay } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { useWholeList } from '../../api/whole-list.js';
import type { Column } from '../../components/data-table.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { countText, quantity } from '../../components/formats.js';
import { WholeTable } from '../../components/list-table.js';
import { EmptyState, FailureNotice, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { TimeText } from '../../components/time-text.js';
import type { QueueRow } from './shapes.js';

const REFRESH_MS = 5_000;
const idOf = ({ name }: QueueRow): string => name;

/** `new`: one that is not there yet. */
type Asked = { readonly kind: 'new' } | { readonly kind: 'change' | 'delete'; readonly queue: QueueRow };

export function QueuesList() {
  const heading = useId();
  const { write, readOnly } = useMay();
  const change = useChange();
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = () => setAsked(null);
  const { data, dataUpdatedAt, error, isPending, refetch } = useApi<readonly QueueRow[]>({
    topic: 'queues',
    name: 'list',
    url: '/v2/queues',
    refreshMs: REFRESH_MS,
  });
  const list = useWholeList({ topic: 'queues', rows: data, readAt: dataUpdatedAt, idOf });
  const pause = ({ name, paused }: QueueRow) =>
    void change({
      method: 'POST',
      url: path`/v2/queues/${name}/${paused ? 'resume' : 'pause'}`,
      topics: ['queues'],
      done: paused ? `${name} sends again` : `${name} is paused; what is in flight goes on`,
      tellFailure: true,
    });
  const columns: readonly Column<QueueRow>[] = [
    {
      id: 'state',
      header: 'State',
      width: '96px',
      under: 'name',
      cell: ({ paused }) =>
        paused ? <StatusBadge tone="warn">Paused</StatusBadge> : <StatusBadge tone="good">Sends</StatusBadge>,
    },
    {
      id: 'name',
      header: 'Queue',
      width: 'minmax(0, 3fr)',
      cell: ({ name }) => (
        <div className="clip mono" title={name}>
          {name}
        </div>
      ),
    },
    { id: 'lag', header: 'Waiting', width: '80px', align: 'right', cell: ({ lag }) => countText(lag) },
    {
      id: 'parallelism',
      header: 'At a time',
      width: '84px',
      align: 'right',
      from: 'medium',
      cell: ({ parallelism }) => countText(parallelism),
    },
    {
      id: 'updated',
      header: 'Changed',
      width: '118px',
      from: 'wide',
      cell: ({ updatedAt }) => <TimeText unixMs={updatedAt} />,
    },
    {
      id: 'pause',
      header: 'Pause',
      width: '84px',
      align: 'right',
      cell: (queue) => (
        <DeedButton
          small
          aria-label={`${queue.paused ? 'Resume' : 'Pause'} ${queue.name}`}
          off={readOnly}
          onClick={() => pause(queue)}
        >
          {queue.paused ? 'Resume' : 'Pause'}
        </DeedButton>
      ),
    },
    {
      id: 'change',
      header: 'Change',
      width: '148px',
      align: 'right',
      from: 'medium',
      cell: (queue) => (
        <span className="row-buttons">
          <DeedButton
            small
            aria-label={`Change ${queue.name}`}
            off={readOnly}
            onClick={() => setAsked({ kind: 'change', queue })}
          >
            Change
          </DeedButton>
          <DeedButton
            look="danger"
            small
            aria-label={`Delete ${queue.name}`}
            off={readOnly}
            onClick={() => setAsked({ kind: 'delete', queue })}
          >
            Delete
          </DeedButton>
        </span>
      ),
    },
  ];
  return (
    <section className="queues-section" aria-labelledby={heading}>
      <div className="section-head">
        <h2 id={heading}>Queues</h2>
        <DeedButton off={readOnly} onClick={() => setAsked({ kind: 'new' })}>
          New queue
        </DeedButton>
      </div>
      {isPending ? (
        <Skeleton lines={3} />
      ) : error && !data ? (
        <FailureNotice failure={error} onRetry={() => void refetch()} />
      ) : list.rows.length === 0 ? (
        <div className="table">
          <EmptyState title="There are no queues">
            A queue comes to be with the first message that is enqueued in it, or here.
          </EmptyState>
        </div>
      ) : (
        <WholeTable
          label="Queues"
          what="queues"
          list={list}
          columns={columns}
          idOf={idOf}
          {...(write ? { onOpen: (queue: QueueRow) => setAsked({ kind: 'change', queue }) } : {})}
        />
      )}
      {asked === null ? null : asked.kind === 'new' ? (
        <QueueDialog queue={null} onClose={close} />
      ) : asked.kind === 'change' ? (
        <QueueDialog queue={asked.queue} onClose={close} />
      ) : (
        <ConfirmDialog
          title={`Delete ${asked.queue.name}`}
          open
          onClose={close}
          confirmText={asked.queue.lag === 0 ? 'Delete queue' : `Delete queue and ${quantity(asked.queue.lag, 'message')}`}
          danger
          onConfirm={() =>
            change({
              method: 'DELETE',
              url: path`/v2/queues/${asked.queue.name}`,
              topics: ['queues', 'runs'],
              done: `The queue ${asked.queue.name} is deleted`,
            })
          }
        >
          <p>
            {asked.queue.lag === 0
              ? 'No message waits in it.'
              : `${quantity(asked.queue.lag, 'message')} in it will never be sent.`}{' '}
            This cannot be undone. To stop it for a while, pause it.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

const LEAST = 1;

function QueueDialog({ queue, onClose }: { readonly queue: QueueRow | null; readonly onClose: () => void }) {
  const ids = { name: useId(), parallelism: useId(), paused: useId() };
  const [name, setName] = useState(queue?.name ?? '');
  const [parallelism, setParallelism] = useState(String(queue?.parallelism ?? LEAST));
  const [paused, setPaused] = useState(queue?.paused ?? false);
  const change = useChange();
  const atATime = Number(parallelism);
  const readable = Number.isInteger(atATime) && atATime >= LEAST;
  return (
    <ConfirmDialog
      title={queue === null ? 'New queue' : `Change ${queue.name}`}
      open
      onClose={onClose}
      confirmText={queue === null ? 'Create queue' : 'Save'}
      disabled={name.trim() === '' || !readable}
      onConfirm={() =>
        change({
          method: 'POST',
          url: '/v2/queues',
          body: { queueName: name.trim(), parallelism: atATime, paused },
          topics: ['queues'],
          done: queue === null ? `The queue ${name.trim()} is there` : `${name} is changed`,
        })
      }
    >
      {queue === null ? (
        <div className="field">
          <label className="field-label" htmlFor={ids.name}>
            Name
          </label>
          <input
            id={ids.name}
            className="input mono"
            placeholder="Letters, digits, hyphens, periods, underscores"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
      ) : null}
      <div className="field">
        <label className="field-label" htmlFor={ids.parallelism}>
          Messages sent at a time; with 1 they arrive in order
        </label>
        <input
          id={ids.parallelism}
          className="input"
          type="number"
          min={LEAST}
          value={parallelism}
          aria-invalid={!readable}
          onChange={(event) => setParallelism(event.target.value)}
        />
      </div>
      <label className="line" htmlFor={ids.paused}>
        <input id={ids.paused} type="checkbox" checked={paused} onChange={(event) => setPaused(event.target.checked)} />
        Paused: it takes messages and sends none
      </label>
    </ConfirmDialog>
  );
}
