/** Lists the runs of the instance in the order of their creation, with filters, search and live updates. */
import { lazy, Suspense, useMemo } from 'react';
import { RUN_FILTERS } from '../../../../everstep/dist/contract/filters/run-filters.js';
import type { Waiting } from '../../../../everstep/src/contract/fields/wait-reason.js';
import type { Wait } from '../../../../everstep/src/contract/filters/run-filters.js';
import type { FoundRun, RunSearchPage } from '../../../../everstep/src/contract/runs.js';
import type { WaitKind } from '../../../../everstep/src/contract/states.js';
import type { FollowRule } from '../../api/followed-rows.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import { loadPageFiles } from '../../api/page-files.js';
import { ActionButton } from '../../components/action-button.js';
import { splitError } from '../../components/errors/error-text.js';
import { Icon } from '../../components/icons.js';
import { Labels } from '../../components/labels.js';
import { loadAfterPage } from '../../components/loading/load-after-page.js';
import { PageTitle } from '../../components/page-title.js';
import { RunLink, runPath } from '../../components/run-link.js';
import { RUN_STATES, RunStateBadge, WaitingBadge } from '../../components/run-state.js';
import { EmptyState, Skeleton } from '../../components/states.js';
import { fieldOf, valuesOf } from '../../components/tables/api-filters.js';
import type { Column } from '../../components/tables/data-table.js';
import { FilterBar } from '../../components/tables/filter-bar.js';
import { type FilterField, invalidFieldsOf, invalidReasonOf } from '../../components/tables/filter-fields.js';
import { useFilters } from '../../components/tables/filters.js';
import { InvalidFilters } from '../../components/tables/invalid-filters.js';
import { type CountedField, ListHistogram } from '../../components/tables/list-histogram.js';
import { type ListOrder, useListOrder } from '../../components/tables/list-order.js';
import { ListTable } from '../../components/tables/list-table.js';
import { usePageDialog } from '../../components/tables/page-dialog.js';
import { DurationText } from '../../components/times/duration-text.js';
import { TimeText } from '../../components/times/time-text.js';
import { WorkflowLink } from '../../components/urls/workflow-link.js';
import { BulkActions } from './bulk/bulk-actions.js';
import './runs.css';

const TriggerDialog = loadAfterPage(() => import('../trigger/trigger-dialog.js'));
/** Most instances have runs, so its code is not part of the first page. */
const Quickstart = lazy(() => loadPageFiles(import('../quickstart/quickstart.js')));

/** Filters of this page. The creation time is not one of them, because it only identifies a single run. */
const { workflowCreatedAt: _unused, state: STATE, waitingFor: WAITING_FOR, ...MORE_FILTERS } = RUN_FILTERS;
type MoreFilter = keyof typeof MORE_FILTERS;
// Object.keys returns the names of the table.
const MORE_FILTER_NAMES = Object.keys(MORE_FILTERS) as readonly MoreFilter[];
/** URL parameters that are shorter than the names of their filters. */
const PARAMETERS: Readonly<Partial<Record<MoreFilter, string>>> = {
  workflowRunId: 'id',
  workflowUrl: 'url',
  fromDate: 'from',
  toDate: 'to',
  flowControlKey: 'key',
  callerIp: 'ip',
  minDurationMs: 'min',
  maxDurationMs: 'max',
};
const parameterOf = (name: MoreFilter): string => PARAMETERS[name] ?? name;
const FILTERS = ['q', 'state', 'waits', 'since', ...MORE_FILTER_NAMES.map(parameterOf)];

const HOUR_MS = 3_600_000;
const STATE_TEXTS = Object.fromEntries(Object.entries(RUN_STATES).map(([state, { text }]) => [state, text]));
const WAIT_TEXTS: Readonly<Record<Wait, string>> = {
  anything: 'Anything',
  'not-before': 'Start time',
  sleeping: 'Timer',
  'waiting-for-event': 'Event',
  'waiting-for-run': 'Other run',
  retry: 'Retry',
  'flow-control': 'Flow control',
  queue: 'Queue',
  'destination-held': 'Held destination',
  'no-worker': 'Worker',
  queued: 'Delivery slot',
};
const SINCE: Readonly<Record<string, { readonly text: string; readonly ms: number }>> = {
  '15m': { text: 'Last 15 minutes', ms: HOUR_MS / 4 },
  '1h': { text: 'Last hour', ms: HOUR_MS },
  '24h': { text: 'Last 24 hours', ms: 24 * HOUR_MS },
  '7d': { text: 'Last 7 days', ms: 168 * HOUR_MS },
};

const FIELDS: readonly FilterField<string>[] = [
  { kind: 'text', name: 'q', label: 'Search', placeholder: 'Label, id, URL or error', wide: true },
  fieldOf('state', STATE, { anyText: 'Any state', textOf: STATE_TEXTS }),
  fieldOf('waits', WAITING_FOR, { anyText: 'All runs', textOf: WAIT_TEXTS }),
  {
    kind: 'choice',
    name: 'since',
    label: 'Created',
    anyText: 'Any time',
    options: Object.entries(SINCE).map(([value, { text }]) => ({ value, text })),
  },
];
const MORE_FIELDS = MORE_FILTER_NAMES.map((name) => fieldOf(parameterOf(name), MORE_FILTERS[name]));
const ALL_FIELDS = [...FIELDS, ...MORE_FIELDS];

const RANGE = { from: parameterOf('fromDate'), to: parameterOf('toDate'), alternatives: ['since'] };
const COUNTED_FIELDS: readonly CountedField<string>[] = [
  ...(['workflowUrl', 'label', 'flowControlKey', 'callerIp'] as const).map((field) => ({
    field,
    label: MORE_FILTERS[field].label,
    parameter: parameterOf(field),
    isList: field !== 'workflowUrl',
  })),
  { field: 'state', label: STATE.label, parameter: 'state', textOf: STATE_TEXTS },
];

const idOf = (run: FoundRun): string => `${run.workflowRunId} ${run.workflowRunCreatedAt}`;
const nameOf = ({ workflowRunCreatedAt, workflowRunId }: FoundRun): string => `${workflowRunCreatedAt}.${workflowRunId}`;
/** Follows active runs that newer ones have pushed out of the first page. */
const FOLLOW: FollowRule<FoundRun> = {
  isFinal: ({ workflowState }) => workflowState !== 'RUN_STARTED',
  queryOf: (runs) => ({ run: runs.map(nameOf) }),
  runIdOf: ({ workflowRunId }) => workflowRunId,
  sizeOf: (run) => encodeURIComponent(nameOf(run)).length,
};
const read = ({ runs, cursor, searchedUntil }: RunSearchPage): CursorPage<FoundRun> => ({
  rows: runs,
  cursor: cursor ?? null,
  searchedBackTo: searchedUntil,
});

function RunError({ error }: { readonly error: string }) {
  const { failedPart, message } = splitError(error);
  return (
    <div className="clip" title={error}>
      {failedPart === null ? null : <span className="muted">{failedPart}: </span>}
      {message}
    </div>
  );
}

/** Returns the text without "Waiting for", because the state and the column header already state that the run is waiting. */
const waitingForText = (text: string): string =>
  text.replace(/^Waiting for (.)/, (_start, firstLetter: string) => firstLetter.toUpperCase());

/** What a run waits for, and when the wait ends without an event. */
function WaitDetails({ waiting }: { readonly waiting: Waiting }) {
  const endsAt = waiting.at ?? waiting.until;
  return (
    <div className="clip" title={waiting.message}>
      {waitingForText(waiting.text)}
      {endsAt === undefined ? null : (
        <span className="muted">
          {' '}
          <TimeText unixMs={endsAt} style="relative" />
        </span>
      )}
    </div>
  );
}

/** The columns. The server sorts runs by their creation only, because that is the only order with an index. */
const columnsOf = (sort: ListOrder['sort']): readonly Column<FoundRun>[] => [
  {
    id: 'state',
    header: 'State',
    sortBy: ({ workflowState }) => workflowState,
    width: '108px',
    cell: ({ waiting, workflowState }) => (waiting === undefined ? <RunStateBadge state={workflowState} /> : <WaitingBadge />),
  },
  {
    id: 'run',
    header: 'Run',
    width: 'minmax(0, 6fr)',
    cell: (run) => <RunLink runId={run.workflowRunId} createdAt={run.workflowRunCreatedAt} />,
  },
  {
    id: 'workflow',
    header: 'Workflow',
    sortBy: ({ workflowUrl }) => workflowUrl,
    width: 'minmax(0, 5fr)',
    shownFrom: 'wide',
    stackUnder: 'run',
    cell: (run) => <WorkflowLink url={run.workflowUrl} />,
  },
  {
    id: 'labels',
    header: 'Labels',
    width: 'minmax(0, 5fr)',
    shownFrom: 'full',
    stackUnder: 'details',
    cell: (run) => <Labels labels={run.labels} max={2} />,
  },
  {
    id: 'details',
    header: 'Error or wait',
    width: 'minmax(0, 7fr)',
    shownFrom: 'wide',
    stackUnder: 'run',
    cell: ({ workflowRunError, waiting }) => {
      if (workflowRunError !== undefined) return <RunError error={workflowRunError} />;
      return waiting === undefined ? null : <WaitDetails waiting={waiting} />;
    },
  },
  {
    id: 'created',
    header: 'Created',
    sort,
    width: '100px',
    stackUnder: 'run',
    cell: (run) => <TimeText unixMs={run.workflowRunCreatedAt} />,
  },
  {
    id: 'took',
    header: 'Duration',
    sortBy: ({ workflowRunCreatedAt, workflowRunCompletedAt: endedAt = Date.now() }) => endedAt - workflowRunCreatedAt,
    width: '84px',
    align: 'right',
    stackUnder: 'run',
    cell: ({ workflowRunCreatedAt, workflowRunCompletedAt = null }) => (
      <DurationText from={workflowRunCreatedAt} to={workflowRunCompletedAt} />
    ),
  },
];

/** Waits that end without a change of the run, and therefore without a live hint: the delivery gets a slot or a worker. */
const WAITS_WITHOUT_HINT: readonly WaitKind[] = ['flow-control', 'queue', 'destination-held', 'no-worker', 'queued', 'retry'];
const WAIT_REFRESH_MS = 3_000;
const refreshMsOf = (rows: readonly FoundRun[]): number | false =>
  rows.some(({ waiting }) => waiting !== undefined && WAITS_WITHOUT_HINT.includes(waiting.kind)) ? WAIT_REFRESH_MS : false;

export default function RunsPage() {
  const instanceId = useInstanceId();
  const { readOnlyReason } = usePermissions();
  const trigger = usePageDialog('trigger');
  const filters = useFilters(FILTERS);
  const invalidFields = invalidFieldsOf(ALL_FIELDS, filters.values);
  const { q, state, waits, since } = filters.values;
  const order = useListOrder();
  const sinceMs = since === undefined ? undefined : SINCE[since]?.ms;
  // The start time is fixed when the filter is set. If it moved with the clock, the list would be a new one every second. It is the
  // start of a minute or an hour, by which runs are counted.
  const sinceDate = useMemo(() => {
    if (sinceMs === undefined) return undefined;
    const startedAt = Date.now() - sinceMs;
    return startedAt - (startedAt % (sinceMs > 24 * HOUR_MS ? HOUR_MS : HOUR_MS / 60));
  }, [sinceMs]);
  const moreValues = Object.fromEntries(MORE_FILTER_NAMES.map((name) => [name, filters.values[parameterOf(name)]]));
  const query = { q, fromDate: sinceDate, ...valuesOf(RUN_FILTERS, { state, waitingFor: waits, ...moreValues }) };
  const columns = useMemo(() => columnsOf(order.sort), [order.sort]);
  const list = useCursorList({
    topic: 'runs',
    name: 'list',
    url: '/v2/workflows/search',
    query: { ...query, ...order.query },
    read,
    idOf,
    follow: FOLLOW,
    refreshMsOf,
    enabled: invalidFields.length === 0,
  });
  return (
    <>
      <PageTitle
        title="Runs"
        actions={
          <>
            <BulkActions query={query} isFiltered={filters.isFiltered} disabledReason={invalidReasonOf(invalidFields)} />
            <ActionButton variant="primary" disabledReason={readOnlyReason} onClick={trigger.open}>
              <Icon name="play" />
              Trigger run
            </ActionButton>
          </>
        }
      />
      <FilterBar filters={filters} fields={FIELDS} moreFields={MORE_FIELDS} />
      {invalidFields.length > 0 ? (
        <InvalidFilters fields={invalidFields} rowsName="runs" onClear={filters.clear} />
      ) : (
        <>
          <ListHistogram listName="runs" list={list} query={query} filters={filters} range={RANGE} fields={COUNTED_FIELDS} />
          <ListTable
            label="Runs"
            rowsName="runs"
            list={list}
            columns={columns}
            idOf={idOf}
            nameOf={(run) => run.workflowRunId}
            hrefOf={(run) => runPath(instanceId, run.workflowRunId, run.workflowRunCreatedAt)}
            empty={
              filters.isFiltered ? (
                <EmptyState
                  title="No matching runs"
                  action={
                    <button type="button" className="button" onClick={filters.clear}>
                      Clear filters
                    </button>
                  }
                />
              ) : (
                <Suspense fallback={<Skeleton lines={8} />}>
                  <Quickstart />
                </Suspense>
              )
            }
          />
        </>
      )}
      {trigger.isOpen ? <TriggerDialog onClose={trigger.close} /> : null}
    </>
  );
}
