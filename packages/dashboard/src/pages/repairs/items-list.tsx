/** Lists the dead letters of a repair with their results. */
import { Link } from '@tanstack/react-router';
import type { RepairEntry, RepairItem, RepairItemPage } from '../../../../everstep/src/contract/repairs.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import { RunLink, runPath } from '../../components/run-link.js';
import { EmptyState } from '../../components/states.js';
import type { Column } from '../../components/tables/data-table.js';
import { useFilters } from '../../components/tables/filters.js';
import { ListTable } from '../../components/tables/list-table.js';
import { countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { UrlText } from '../../components/url-text.js';
import { ItemStateBadge } from './repair-badges.js';
import { ITEM_ORDER, ITEM_STATES } from './repair-text.js';

const FILTERS = ['state'] as const;
/** Number of rows that stay up to date while the repair runs. */
const PAGE_SIZE = 500;

const read = ({ cursor, items }: RepairItemPage): CursorPage<RepairItem> => ({
  rows: items,
  cursor: cursor === '' ? null : cursor,
});
const idOf = ({ dlqId }: RepairItem): string => dlqId;

function NewRun({ item: { newWorkflowRunId, newDlqId, error } }: { readonly item: RepairItem }) {
  const instanceId = useInstanceId();
  return (
    <div>
      <div className="item-new-run">
        {newWorkflowRunId === null ? <span className="muted">no new run</span> : <RunLink runId={newWorkflowRunId} />}
      </div>
      {/* Reserves the line, so that rows keep their height when the result arrives. */}
      <div className="field-hint clip" title={error ?? undefined}>
        {newDlqId === null ? null : (
          <>
            <Link to="/q/$instanceId/dead-letters/$dlqId" params={{ instanceId, dlqId: newDlqId }} tabIndex={-1}>
              dead letter
            </Link>
            {error === null ? '' : ': '}
          </>
        )}
        {error ?? '\u00a0'}
      </div>
    </div>
  );
}

const COLUMNS: readonly Column<RepairItem>[] = [
  {
    id: 'state',
    header: 'State',
    width: '128px',
    cell: ({ state, canary }) => (
      <div>
        <ItemStateBadge state={state} />
        {canary ? <div className="field-hint">canary</div> : null}
      </div>
    ),
  },
  {
    id: 'run',
    header: 'Failed run',
    width: 'minmax(0, 2fr)',
    cell: (item) => (
      <div>
        <RunLink runId={item.workflowRunId} />
        <div className="field-hint clip">
          <UrlText url={item.workflowUrl} />
        </div>
      </div>
    ),
  },
  { id: 'new', header: 'New run', width: 'minmax(0, 2fr)', stackUnder: 'run', cell: (item) => <NewRun item={item} /> },
  {
    id: 'at',
    header: 'Updated',
    width: '108px',
    shownFrom: 'medium',
    cell: ({ at }) => (at === null ? null : <TimeText unixMs={at} style="relative" />),
  },
];

export function ItemsList({ repair: { repairId, counts } }: { readonly repair: RepairEntry }) {
  const instanceId = useInstanceId();
  const filters = useFilters(FILTERS);
  const selected = ITEM_ORDER.find((state) => state === filters.values.state);
  const list = useCursorList<RepairItemPage, RepairItem>({
    topic: 'repairs',
    name: 'items',
    url: path`/v2/workflows/repairs/${repairId}/items`,
    query: { state: selected },
    count: PAGE_SIZE,
    moreCount: PAGE_SIZE,
    read,
    idOf,
  });
  return (
    <section aria-labelledby="repair-items">
      <h2 id="repair-items">Results</h2>
      <fieldset className="fieldset item-tabs">
        <legend className="visually-hidden">State</legend>
        <button type="button" className="button button-small" aria-pressed={selected === undefined} onClick={filters.clear}>
          All {countText(counts.total)}
        </button>
        {ITEM_ORDER.map((state) => (
          <button
            key={state}
            type="button"
            className="button button-small"
            aria-pressed={selected === state}
            onClick={() => filters.set('state', state)}
          >
            {ITEM_STATES[state].text}{' '}
            <span className="numeric item-count" style={{ minWidth: `${countText(counts.total).length}ch` }}>
              {countText(counts[state])}
            </span>
          </button>
        ))}
      </fieldset>
      <ListTable
        label="Results of the repair"
        list={list}
        rowsName="dead letters"
        columns={COLUMNS}
        idOf={idOf}
        hrefOf={({ workflowRunId, newWorkflowRunId }) => runPath(instanceId, newWorkflowRunId ?? workflowRunId)}
        estimatedHeight={58}
        empty={
          <EmptyState title={selected === undefined ? 'No dead letters' : `None in this state: ${ITEM_STATES[selected].text}`} />
        }
      />
    </section>
  );
}
