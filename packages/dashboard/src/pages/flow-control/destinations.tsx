/** Destinations that are held back, or failed last: deliveries to them wait until they are released. */
import { useId, useState } from 'react';
import type { DestinationEntry } from '../../../../everstep/src/contract/service.js';
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

const REFRESH_MS = 3_000;
const idOf = ({ origin }: DestinationEntry): string => origin;

export function Destinations() {
  const { readOnly } = useMay();
  const change = useChange();
  const heading = useId();
  const [holding, setHolding] = useState(false);
  const { data, dataUpdatedAt, error, isPending, refetch } = useApi<{ readonly destinations: readonly DestinationEntry[] }>({
    topic: 'settings',
    name: 'destinations',
    url: '/v2/destinations',
    refreshMs: REFRESH_MS,
  });
  const list = useWholeList({ topic: 'settings', rows: data?.destinations, readAt: dataUpdatedAt, idOf });
  const release = (origin: string) =>
    void change({
      method: 'POST',
      url: '/v2/destinations/release',
      body: { origin },
      topics: ['settings', 'flow-control'],
      done: `Deliveries to ${origin} go on`,
      tellFailure: true,
    });
  const columns: readonly Column<DestinationEntry>[] = [
    {
      id: 'state',
      header: 'State',
      width: '104px',
      under: 'origin',
      cell: ({ isHeld }) =>
        isHeld ? <StatusBadge tone="warn">Held</StatusBadge> : <StatusBadge tone="bad">Failing</StatusBadge>,
    },
    {
      id: 'origin',
      header: 'Destination',
      width: 'minmax(0, 3fr)',
      cell: ({ origin }) => (
        <div className="clip mono" title={origin}>
          {origin}
        </div>
      ),
    },
    {
      id: 'why',
      header: 'Why',
      width: 'minmax(0, 4fr)',
      under: 'origin',
      cell: ({ reason, lastError, failures, heldBy }) => {
        const why = reason ?? lastError ?? quantity(failures, 'failure');
        return (
          <div className="clip" title={why}>
            {heldBy === 'breaker' ? 'By itself: ' : ''}
            {why}
          </div>
        );
      },
    },
    {
      id: 'since',
      header: 'Held since',
      width: '118px',
      from: 'wide',
      cell: ({ heldSince }) => (heldSince === undefined ? null : <TimeText unixMs={heldSince} />),
    },
    {
      id: 'waiting',
      header: 'Waiting',
      width: '84px',
      align: 'right',
      from: 'medium',
      cell: ({ waitListSize }) => countText(waitListSize),
    },
    {
      id: 'release',
      header: 'Release',
      width: '92px',
      align: 'right',
      cell: ({ origin, isHeld }) =>
        isHeld ? (
          <DeedButton small aria-label={`Release ${origin}`} off={readOnly} onClick={() => release(origin)}>
            Release
          </DeedButton>
        ) : null,
    },
  ];
  return (
    <section className="flow-section" aria-labelledby={heading}>
      <div className="section-head">
        <h2 id={heading}>Destinations</h2>
        <DeedButton off={readOnly} onClick={() => setHolding(true)}>
          Hold a destination
        </DeedButton>
      </div>
      {isPending ? (
        <Skeleton lines={2} />
      ) : error && !data ? (
        <FailureNotice failure={error} onRetry={() => void refetch()} />
      ) : list.rows.length === 0 ? (
        <div className="table">
          <EmptyState title="No destination is held back">
            Hold one while it is being repaired: runs wait instead of failing, and go on when it is released.
          </EmptyState>
        </div>
      ) : (
        <WholeTable label="Destinations" what="destinations" list={list} columns={columns} idOf={idOf} />
      )}
      {holding ? <HoldDialog onClose={() => setHolding(false)} /> : null}
    </section>
  );
}

function HoldDialog({ onClose }: { readonly onClose: () => void }) {
  const originId = useId();
  const reasonId = useId();
  const [origin, setOrigin] = useState('');
  const [reason, setReason] = useState('');
  const change = useChange();
  return (
    <ConfirmDialog
      title="Hold a destination"
      open
      onClose={onClose}
      confirmText="Hold"
      disabled={origin.trim() === ''}
      onConfirm={() =>
        change({
          method: 'POST',
          url: '/v2/destinations/hold',
          body: { origin: origin.trim(), ...(reason.trim() === '' ? {} : { reason: reason.trim() }) },
          topics: ['settings', 'flow-control'],
          done: `Deliveries to ${origin.trim()} wait from now on`,
        })
      }
    >
      <p>No delivery to it starts any more. What is in flight ends; what comes waits, and no attempt is used up.</p>
      <div className="field">
        <label className="field-label" htmlFor={originId}>
          Scheme, host and port
        </label>
        <input
          id={originId}
          className="input mono"
          placeholder="https://app.example.com"
          value={origin}
          onChange={(event) => setOrigin(event.target.value)}
        />
      </div>
      <div className="field">
        <label className="field-label" htmlFor={reasonId}>
          Reason, for whoever sees that runs wait
        </label>
        <input id={reasonId} className="input" value={reason} onChange={(event) => setReason(event.target.value)} />
      </div>
    </ConfirmDialog>
  );
}
