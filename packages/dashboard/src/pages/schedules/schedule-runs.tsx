/** The latest runs that a schedule started. */
import { Link } from '@tanstack/react-router';
import type { FoundRun, RunSearchPage } from '../../../../everstep/src/contract/runs.js';
import type { ScheduleEntry } from '../../../../everstep/src/contract/schedules.js';
import { useInstanceId } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { RunLink, runPath } from '../../components/run-link.js';
import { RunStateBadge } from '../../components/run-state.js';
import { FailureNotice, Skeleton } from '../../components/states.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { durationText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';

/** Number of latest runs of the workflow that are searched for runs of the schedule. There is no index of runs by schedule. */
const MAX_SEARCHED_RUNS = 100;

const COLUMNS: readonly Column<FoundRun>[] = [
  { id: 'state', header: 'State', width: '112px', cell: ({ workflowState }) => <RunStateBadge state={workflowState} /> },
  {
    id: 'run',
    header: 'Run',
    width: 'minmax(0, 2fr)',
    cell: ({ workflowRunId, workflowRunCreatedAt }) => <RunLink runId={workflowRunId} createdAt={workflowRunCreatedAt} />,
  },
  {
    id: 'error',
    header: 'Error',
    width: 'minmax(0, 3fr)',
    stackUnder: 'run',
    cell: ({ workflowRunError }) => (
      <div className="clip" title={workflowRunError}>
        {workflowRunError}
      </div>
    ),
  },
  {
    id: 'created',
    header: 'Started',
    width: '118px',
    stackUnder: 'run',
    cell: ({ workflowRunCreatedAt }) => <TimeText unixMs={workflowRunCreatedAt} />,
  },
  {
    id: 'took',
    header: 'Duration',
    width: '92px',
    align: 'right',
    stackUnder: 'run',
    cell: ({ workflowRunCompletedAt: endedAt, workflowRunCreatedAt: createdAt }) =>
      endedAt === undefined ? null : durationText(endedAt - createdAt),
  },
];

const idOf = ({ workflowRunId, workflowRunCreatedAt }: FoundRun): string => `${workflowRunId} ${workflowRunCreatedAt}`;

export function ScheduleRuns({ schedule }: { readonly schedule: ScheduleEntry }) {
  const instanceId = useInstanceId();
  const { scheduleId, destination } = schedule;
  const { data, error, refetch } = useApi<RunSearchPage>({
    topic: 'runs',
    name: 'of-schedule',
    url: '/v2/workflows/search',
    query: { workflowUrl: destination, count: MAX_SEARCHED_RUNS },
  });
  const rows = data?.runs.filter(({ workflowRunOrigin }) => workflowRunOrigin?.scheduleId === scheduleId) ?? [];
  const allRunsLink = (
    <Link to="/q/$instanceId/runs" params={{ instanceId }} search={{ url: destination }} className="button button-small">
      All runs of this workflow
    </Link>
  );
  return (
    <Card title="Runs of this schedule" actions={allRunsLink} flush>
      {data === undefined ? (
        <div className="card-body">
          {error === null ? <Skeleton lines={4} /> : <FailureNotice failure={error} onRetry={() => void refetch()} />}
        </div>
      ) : rows.length === 0 ? (
        <p className="card-body muted">
          {data.complete ? 'No runs yet' : `None among the latest ${MAX_SEARCHED_RUNS} runs of this workflow`}
        </p>
      ) : (
        <DataTable
          label="Runs of this schedule"
          columns={COLUMNS}
          rows={rows}
          idOf={idOf}
          hrefOf={({ workflowRunId, workflowRunCreatedAt }) => runPath(instanceId, workflowRunId, workflowRunCreatedAt)}
          footer={data.complete ? undefined : <span>Among the latest {MAX_SEARCHED_RUNS} runs of this workflow</span>}
        />
      )}
    </Card>
  );
}
