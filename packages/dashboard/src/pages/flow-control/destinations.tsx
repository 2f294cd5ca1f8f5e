/** Destinations that are held or whose last delivery failed. Deliveries to a held destination wait until it is released. */
import { useId, useState } from 'react';
import type { DestinationEntry } from '../../../../everstep/src/contract/service.js';
import { useCompleteList } from '../../api/complete-list.js';
import { usePermissions } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { NotLoaded } from '../../components/loading/loaded.js';
import { EmptyState } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import type { Column } from '../../components/tables/data-table.js';
import { CompleteTable } from '../../components/tables/list-table.js';
import { countText, quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';

const REFRESH_MS = 3_000;
const idOf = ({ origin }: DestinationEntry): string => origin;

export function Destinations() {
  const { readOnlyReason } = usePermissions();
  const change = useChange();
  const heading = useId();
  const [isHolding, setIsHolding] = useState(false);
  const destinations = useApi<{ readonly destinations: readonly DestinationEntry[] }>({
    topic: 'settings',
    name: 'destinations',
    url: '/v2/destinations',
    refreshMs: REFRESH_MS,
  });
  const list = useCompleteList({
    topic: 'settings',
    rows: destinations.data?.destinations,
    readAt: destinations.dataUpdatedAt,
    idOf,
  });
  const release = (origin: string) =>
    void change({
      method: 'POST',
      url: '/v2/destinations/release',
      body: { origin },
      topics: ['settings', 'flow-control'],
      successText: `Released ${origin}; deliveries continue`,
      showFailure: true,
    });
  const columns: readonly Column<DestinationEntry>[] = [
    {
      id: 'state',
      header: 'State',
      width: '104px',
      stackUnder: 'origin',
      cell: ({ isHeld, noWorkerSince }) =>
        isHeld ? (
          <StatusBadge tone="warn">Held</StatusBadge>
        ) : noWorkerSince === undefined ? (
          <StatusBadge tone="bad">Failing</StatusBadge>
        ) : (
          <StatusBadge tone="warn">No worker</StatusBadge>
        ),
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
      id: 'reason',
      header: 'Reason',
      width: 'minmax(0, 4fr)',
      stackUnder: 'origin',
      cell: ({ reason, lastError, failures, heldBy, noWorkerSince }) => {
        const noWorker = noWorkerSince === undefined ? undefined : 'Deliveries wait for a worker';
        const text = reason ?? noWorker ?? lastError ?? quantity(failures, 'failure');
        return (
          <div className="clip" title={text}>
            {heldBy === 'breaker' ? 'Held automatically: ' : ''}
            {text}
          </div>
        );
      },
    },
    {
      id: 'since',
      header: 'Since',
      width: '118px',
      shownFrom: 'wide',
      cell: ({ heldSince, noWorkerSince }) => {
        const since = heldSince ?? noWorkerSince;
        return since === undefined ? null : <TimeText unixMs={since} />;
      },
    },
    {
      id: 'waiting',
      header: 'Waiting',
      width: '84px',
      align: 'right',
      shownFrom: 'medium',
      cell: ({ waitListSize }) => countText(waitListSize),
    },
    {
      id: 'actions',
      header: 'Actions',
      width: '92px',
      align: 'right',
      cell: ({ origin, isHeld }) =>
        isHeld ? (
          <ActionButton small aria-label={`Release ${origin}`} disabledReason={readOnlyReason} onClick={() => release(origin)}>
            Release
          </ActionButton>
        ) : null,
    },
  ];
  return (
    <section className="flow-section" aria-labelledby={heading}>
      <div className="section-head">
        <h2 id={heading}>Destinations</h2>
        <ActionButton disabledReason={readOnlyReason} onClick={() => setIsHolding(true)}>
          Hold destination
        </ActionButton>
      </div>
      {destinations.data === undefined ? (
        <NotLoaded query={destinations} lines={2} />
      ) : list.rows.length === 0 ? (
        <div className="table">
          <EmptyState title="No held or failing destinations">
            Hold a destination during maintenance: runs wait instead of failing, and continue when you release it.
          </EmptyState>
        </div>
      ) : (
        <CompleteTable label="Destinations" rowsName="destinations" list={list} columns={columns} idOf={idOf} />
      )}
      {isHolding ? <HoldDialog onClose={() => setIsHolding(false)} /> : null}
    </section>
  );
}

function HoldDialog({ onClose }: { readonly onClose: () => void }) {
  const [origin, setOrigin] = useState('');
  const [reason, setReason] = useState('');
  const change = useChange();
  return (
    <ConfirmDialog
      title="Hold destination"
      open
      onClose={onClose}
      confirmText="Hold destination"
      disabled={origin.trim() === ''}
      onConfirm={() =>
        change({
          method: 'POST',
          url: '/v2/destinations/hold',
          body: { origin: origin.trim(), ...(reason.trim() === '' ? {} : { reason: reason.trim() }) },
          topics: ['settings', 'flow-control'],
          successText: `Holding deliveries to ${origin.trim()}`,
        })
      }
    >
      <p>
        No new deliveries to this destination start. Deliveries in flight finish. All others wait without using up retries. You
        can release the destination at any time.
      </p>
      <TextField
        label="Destination"
        hint="Scheme, host and port, or a worker URL."
        mono
        placeholder="https://app.example.com"
        value={origin}
        onChange={setOrigin}
      />
      <TextField label="Reason (shown with waiting runs)" value={reason} onChange={setReason} />
    </ConfirmDialog>
  );
}
