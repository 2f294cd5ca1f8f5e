/** Lists schedules with their workflow and times. */
import type { ScheduleEntry } from '../../../../everstep/src/contract/schedules.js';
import { path } from '../../api/client.js';
import { useCompleteList } from '../../api/complete-list.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { PageTitle } from '../../components/page-title.js';
import { RunLink } from '../../components/run-link.js';
import { EmptyState } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { CompleteListView } from '../../components/tables/complete-list-view.js';
import type { Column } from '../../components/tables/data-table.js';
import { FilterBar, type FilterField } from '../../components/tables/filter-bar.js';
import { useFilters } from '../../components/tables/filters.js';
import { usePageDialog } from '../../components/tables/page-dialog.js';
import { LOCAL_ZONE } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { UrlText } from '../../components/url-text.js';
import { CreateScheduleDialog } from './create-schedule-dialog.js';

const FILTERS = ['word'] as const;
const FIELDS: readonly FilterField<'word'>[] = [
  { kind: 'text', name: 'word', label: 'Search', placeholder: 'Id, URL or label', wide: true },
];

const COLUMNS: readonly Column<ScheduleEntry>[] = [
  {
    id: 'state',
    header: 'State',
    width: '104px',
    stackUnder: 'destination',
    cell: ({ isPaused }) =>
      isPaused ? <StatusBadge tone="warn">Paused</StatusBadge> : <StatusBadge tone="good">Active</StatusBadge>,
  },
  {
    id: 'destination',
    header: 'Workflow',
    sortBy: ({ destination }) => destination,
    width: 'minmax(0, 4fr)',
    isLink: true,
    cell: ({ destination, scheduleId }) => (
      <div className="cell-lines">
        <UrlText url={destination} />
        <span className="clip mono field-hint" title={scheduleId}>
          {scheduleId}
        </span>
      </div>
    ),
  },
  {
    id: 'cron',
    header: 'Cron',
    width: 'minmax(0, 2fr)',
    shownFrom: 'medium',
    cell: ({ cron, timezone }) => (
      <div className="clip">
        <span className="mono">{cron}</span> <span className="muted">{timezone}</span>
      </div>
    ),
  },
  {
    id: 'next',
    header: 'Next run',
    sortBy: ({ nextScheduleTime = null }) => nextScheduleTime,
    width: '118px',
    stackUnder: 'destination',
    cell: ({ nextScheduleTime }) =>
      nextScheduleTime === undefined ? (
        <span className="muted">none</span>
      ) : (
        <TimeText unixMs={nextScheduleTime} label="Next run" />
      ),
  },
  {
    id: 'last',
    header: 'Last start',
    sortBy: ({ lastScheduleTime = null }) => lastScheduleTime,
    width: '118px',
    shownFrom: 'full',
    stackUnder: 'next',
    stackPrefix: 'last',
    cell: ({ lastScheduleTime }) =>
      lastScheduleTime === undefined ? '–' : <TimeText unixMs={lastScheduleTime} label="Last start" />,
  },
  {
    id: 'run',
    header: 'Last run',
    width: 'minmax(0, 2fr)',
    shownFrom: 'full',
    cell: ({ lastScheduleRunId }) => (lastScheduleRunId === undefined ? null : <RunLink runId={lastScheduleRunId} />),
  },
];

const matches = ({ scheduleId, destination, labels }: ScheduleEntry, searchText: string): boolean =>
  [scheduleId, destination, ...labels].some((text) => text.toLowerCase().includes(searchText));

const idOf = ({ scheduleId }: ScheduleEntry): string => scheduleId;

export default function SchedulesPage() {
  const instanceId = useInstanceId();
  const { readOnlyReason } = usePermissions();
  const filters = useFilters(FILTERS);
  const create = usePageDialog('new');
  const schedules = useApi<readonly ScheduleEntry[]>({
    topic: 'schedules',
    name: 'list',
    url: '/v2/schedules',
  });
  const searchText = filters.values.word?.toLowerCase() ?? '';
  const list = useCompleteList({
    topic: 'schedules',
    rows: schedules.data,
    readAt: schedules.dataUpdatedAt,
    idOf,
    matches: (schedule) => matches(schedule, searchText),
  });
  return (
    <>
      <PageTitle
        title="Schedules"
        lead={`A schedule starts runs of a workflow at the times of a cron expression. Times of runs are in your time zone (${LOCAL_ZONE}).`}
        actions={
          <ActionButton variant="primary" disabledReason={readOnlyReason} onClick={create.open}>
            New schedule
          </ActionButton>
        }
      />
      <FilterBar filters={filters} fields={FIELDS} />
      <CompleteListView
        label="Schedules"
        rowsName="schedules"
        query={schedules}
        list={list}
        columns={COLUMNS}
        idOf={idOf}
        hrefOf={({ scheduleId }) => path`/q/${instanceId}/schedules/${scheduleId}`}
        empty={
          <EmptyState title={searchText === '' ? 'No schedules' : 'No matching schedules'}>
            A schedule starts a workflow at fixed times. For example, <code>0 9 * * 1-5</code> means 9:00 on weekdays.
          </EmptyState>
        }
      />
      {create.isOpen ? <CreateScheduleDialog onClose={create.close} /> : null}
    </>
  );
}
