/** Lists all repairs, newest first. */
import './repairs.css';
import { Link } from '@tanstack/react-router';
import type { RepairEntry, RepairPage } from '../../../../everstep/src/contract/repairs.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import { PageTitle } from '../../components/page-title.js';
import { actorName } from '../../components/people/actor-name.js';
import { EmptyState } from '../../components/states.js';
import type { Column } from '../../components/tables/data-table.js';
import { FilterBar, type FilterField } from '../../components/tables/filter-bar.js';
import { useFilters } from '../../components/tables/filters.js';
import { ListTable } from '../../components/tables/list-table.js';
import { countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { ProgressBar } from './progress-bar.js';
import { RepairStateBadge } from './repair-badges.js';
import { endedCount, REPAIR_STATES, titleOf } from './repair-text.js';

const FILTERS = ['state'] as const;
const FIELDS: readonly FilterField<'state'>[] = [
  {
    kind: 'choice',
    name: 'state',
    label: 'State',
    anyText: 'Any state',
    options: Object.entries(REPAIR_STATES).map(([value, { text }]) => ({ value, text })),
  },
];

const read = ({ cursor, repairs }: RepairPage): CursorPage<RepairEntry> => ({
  rows: repairs,
  cursor: cursor === '' ? null : cursor,
});
const idOf = ({ repairId }: RepairEntry): string => repairId;

const COLUMNS: readonly Column<RepairEntry>[] = [
  {
    id: 'state',
    header: 'State',
    sortBy: ({ state }) => state,
    width: '184px',
    cell: ({ state }) => <RepairStateBadge state={state} />,
  },
  { id: 'title', header: 'Repair', width: 'minmax(0, 2fr)', isLink: true, cell: (repair) => titleOf(repair) },
  {
    id: 'progress',
    header: 'Progress',
    width: 'minmax(0, 2fr)',
    stackUnder: 'title',
    cell: (repair) => (
      <div>
        <ProgressBar counts={repair.counts} label={`Progress of ${titleOf(repair)}`} thin />
        <span className="field-hint numeric">
          {countText(endedCount(repair.counts))} processed
          {repair.counts.failed === 0 ? '' : `, ${countText(repair.counts.failed)} failed again`}
        </span>
      </div>
    ),
  },
  {
    id: 'planned-by',
    header: 'Planned by',
    width: 'minmax(0, 1fr)',
    shownFrom: 'full',
    stackUnder: 'title',
    stackPrefix: 'by',
    cell: ({ createdBy }) =>
      createdBy === null ? (
        <span className="muted">unknown</span>
      ) : (
        <div className="clip" title={createdBy}>
          {actorName(createdBy)}
        </div>
      ),
  },
  {
    id: 'at',
    header: 'Planned',
    sortBy: ({ createdAt }) => createdAt,
    width: '110px',
    stackUnder: 'title',
    cell: ({ createdAt }) => <TimeText unixMs={createdAt} style="relative" />,
  },
];

export default function RepairsPage() {
  const instanceId = useInstanceId();
  const filters = useFilters(FILTERS);
  const list = useCursorList<RepairPage, RepairEntry>({
    topic: 'repairs',
    name: 'repairs',
    url: '/v2/workflows/repairs',
    query: { state: filters.values.state },
    read,
    idOf,
  });
  const toQueue = (
    <Link className="button button-primary" to="/q/$instanceId/dead-letters" params={{ instanceId }}>
      View dead letters
    </Link>
  );
  return (
    <>
      <PageTitle
        title="Repairs"
        lead="Plans and bulk operations on dead letters, with their reports. They run on the server, even if you close this page."
        actions={toQueue}
      />
      <FilterBar filters={filters} fields={FIELDS} />
      <ListTable
        label="Repairs"
        list={list}
        rowsName="repairs"
        columns={COLUMNS}
        idOf={idOf}
        hrefOf={({ repairId }) => path`/q/${instanceId}/repairs/${repairId}`}
        estimatedHeight={52}
        empty={
          filters.isFiltered ? (
            <EmptyState title="No repairs in this state" />
          ) : (
            <EmptyState title="No repairs">Select dead letters and plan a repair. Nothing changes until you start it.</EmptyState>
          )
        }
      />
    </>
  );
}
