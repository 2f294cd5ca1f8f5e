/** Flow control keys with their limits and usage, and held destinations. */
import { useState } from 'react';
import type { FlowControlEntry } from '../../../../everstep/src/contract/service.js';
import { path } from '../../api/client.js';
import { useCompleteList } from '../../api/complete-list.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState } from '../../components/states.js';
import { CompleteListView } from '../../components/tables/complete-list-view.js';
import type { Column } from '../../components/tables/data-table.js';
import { FilterBar, type FilterField } from '../../components/tables/filter-bar.js';
import { useFilters } from '../../components/tables/filters.js';
import { countText } from '../../components/times/formats.js';
import { Destinations } from './destinations.js';
import { KeyState, REFRESH_MS } from './key-state.js';
import { PinDialog } from './pin-dialog.js';
import { ParallelismUsage, RateUsage } from './usage.js';

const FILTERS = ['key'] as const;
const FIELDS: readonly FilterField<'key'>[] = [
  { kind: 'text', name: 'key', label: 'Key', placeholder: 'Part of the name', wide: true },
];

const COLUMNS: readonly Column<FlowControlEntry>[] = [
  { id: 'state', header: 'State', width: '104px', stackUnder: 'key', cell: (entry) => <KeyState entry={entry} /> },
  {
    id: 'key',
    header: 'Key',
    sortBy: ({ flowControlKey }) => flowControlKey,
    width: 'minmax(0, 3fr)',
    isLink: true,
    cell: ({ flowControlKey, isPinnedParallelism, isPinnedRate }) => (
      <div className="clip">
        <span className="mono" title={flowControlKey}>
          {flowControlKey}
        </span>
        {isPinnedParallelism ? <span className="muted"> parallelism pinned</span> : null}
        {isPinnedRate ? <span className="muted"> rate pinned</span> : null}
      </div>
    ),
  },
  {
    id: 'waiting',
    header: 'Waiting',
    sortBy: ({ waitListSize }) => waitListSize,
    width: '84px',
    align: 'right',
    cell: ({ waitListSize }) => countText(waitListSize),
  },
  {
    id: 'parallelism',
    header: 'Parallelism',
    width: 'minmax(0, 2fr)',
    stackUnder: 'key',
    cell: (entry) => <ParallelismUsage entry={entry} />,
  },
  { id: 'rate', header: 'Rate', width: 'minmax(0, 2fr)', stackUnder: 'key', cell: (entry) => <RateUsage entry={entry} /> },
];

const idOf = ({ flowControlKey }: FlowControlEntry): string => flowControlKey;

export default function FlowControlPage() {
  const instanceId = useInstanceId();
  const { readOnlyReason } = usePermissions();
  const filters = useFilters(FILTERS);
  const [isPinning, setIsPinning] = useState(false);
  const keys = useApi<{ readonly flowControls: readonly FlowControlEntry[] }>({
    topic: 'flow-control',
    name: 'keys',
    url: '/v2/flowControl/',
    refreshMs: REFRESH_MS,
  });
  const searchText = filters.values.key?.toLowerCase() ?? '';
  const list = useCompleteList({
    topic: 'flow-control',
    rows: keys.data?.flowControls,
    readAt: keys.dataUpdatedAt,
    idOf,
    matches: ({ flowControlKey }) => flowControlKey.toLowerCase().includes(searchText),
  });
  return (
    <>
      <PageTitle
        title="Flow control"
        lead="Limits per flow control key: how many deliveries can be in flight at once, and how many can start per period."
        actions={
          <ActionButton disabledReason={readOnlyReason} onClick={() => setIsPinning(true)}>
            Pin limits
          </ActionButton>
        }
      />
      <FilterBar filters={filters} fields={FIELDS} />
      <CompleteListView
        label="Flow control keys"
        rowsName="keys"
        query={keys}
        list={list}
        columns={COLUMNS}
        idOf={idOf}
        estimatedHeight={52}
        hrefOf={({ flowControlKey }) => path`/q/${instanceId}/flow-control/${flowControlKey}`}
        empty={
          <EmptyState title={searchText === '' ? 'No flow control keys' : 'No matching keys'}>
            To create a key, trigger a run with it:{' '}
            <code>npx everstep trigger http://127.0.0.1:3000/order --flow-control-key payments --flow-control parallelism=5</code>
          </EmptyState>
        }
      />
      <Destinations />
      {isPinning ? <PinDialog entry={null} onClose={() => setIsPinning(false)} /> : null}
    </>
  );
}
