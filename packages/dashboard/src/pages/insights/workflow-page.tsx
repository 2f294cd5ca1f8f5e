/** Page of a workflow: its runs, failures and durations over time, its steps, recent failures and worker versions. */
import { Link, useSearch } from '@tanstack/react-router';
import { useId, useMemo } from 'react';
import type { WorkflowInsights } from '../../../../everstep/src/contract/insights/insights.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { isWorkerUrl } from '../../api/workers.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState, ErrorState, Skeleton } from '../../components/states.js';
import type { Column } from '../../components/tables/data-table.js';
import { useFilters } from '../../components/tables/filters.js';
import { countText, durationText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { UrlText } from '../../components/url-text.js';
import { workflowName } from '../../components/urls/workflow-name.js';
import { ListSection } from './list-section.js';
import { Figures, REFRESH_MS, RunCharts, totalsOf } from './run-series.js';
import { useWindow, WindowSelect } from './window.js';
import './insights.css';

type Step = WorkflowInsights['steps'][number];
type Failure = WorkflowInsights['recentFailures'][number];
type Version = WorkflowInsights['versions'][number];

const stepText = ({ stepName }: Step): string =>
  stepName === null ? 'Other steps' : stepName === '' ? 'Workflow code' : stepName;
const durationOf = (ms: number | null): string => (ms === null ? '' : durationText(ms));

const STEP_COLUMNS: readonly Column<Step>[] = [
  {
    id: 'step',
    header: 'Step',
    width: 'minmax(0, 5fr)',
    cell: (step) => (
      <div className="clip" title={stepText(step)}>
        {stepText(step)}
      </div>
    ),
  },
  {
    id: 'finished',
    header: 'Finished',
    width: '84px',
    align: 'right',
    shownFrom: 'medium',
    cell: ({ finished }) => countText(finished),
  },
  {
    id: 'failed',
    header: 'Failed attempts',
    width: '120px',
    align: 'right',
    cell: ({ failedAttempts }) => countText(failedAttempts),
  },
  { id: 'mean', header: 'Mean', width: '104px', align: 'right', shownFrom: 'wide', cell: ({ meanMs }) => durationOf(meanMs) },
  { id: 'p50', header: 'Median', width: '104px', align: 'right', shownFrom: 'medium', cell: ({ p50Ms }) => durationOf(p50Ms) },
  { id: 'p95', header: '95th percentile', width: '120px', align: 'right', cell: ({ p95Ms }) => durationOf(p95Ms) },
];

const FAILURE_COLUMNS: readonly Column<Failure>[] = [
  {
    id: 'error',
    header: 'Error',
    width: 'minmax(0, 6fr)',
    isLink: true,
    cell: ({ error }) => (
      <div className="clip" title={error}>
        {error}
      </div>
    ),
  },
  {
    id: 'run',
    header: 'Run',
    width: 'minmax(0, 4fr)',
    stackUnder: 'error',
    cell: ({ workflowRunId }) => (
      <div className="clip mono" title={workflowRunId}>
        {workflowRunId}
      </div>
    ),
  },
  { id: 'failed', header: 'Failed', width: '118px', stackUnder: 'error', cell: ({ failedAt }) => <TimeText unixMs={failedAt} /> },
];

const VERSION_COLUMNS: readonly Column<Version>[] = [
  {
    id: 'version',
    header: 'Version',
    width: 'minmax(0, 5fr)',
    cell: ({ version }) => (
      <div className="clip mono" title={version}>
        {version}
      </div>
    ),
  },
  { id: 'workers', header: 'Workers', width: '84px', align: 'right', cell: ({ workers }) => countText(workers) },
];

const stepId = ({ stepName }: Step): string => (stepName === null ? 'others' : `step ${stepName}`);
const failureId = ({ dlqId }: Failure): string => dlqId;
const versionId = ({ version }: Version): string => version;

type InsightsQuery = ReturnType<typeof useApi<WorkflowInsights>>;

/** The steps, slowest first or those with the most failed attempts first. The order is in the URL. */
function Steps({ query }: { readonly query: InsightsQuery }) {
  const id = useId();
  const { values, set } = useFilters(['order']);
  const sortsByFailures = values.order === 'failing';
  const steps = query.data?.steps;
  const rows = useMemo(
    () => (sortsByFailures ? steps?.toSorted((a, b) => b.failedAttempts - a.failedAttempts) : steps),
    [sortsByFailures, steps],
  );
  return (
    <ListSection
      key={`${query.data?.intervalMs} ${sortsByFailures}`}
      title="Steps"
      rowsName="steps"
      query={query}
      rows={rows}
      columns={STEP_COLUMNS}
      idOf={stepId}
      empty={<EmptyState title="No steps in this time range" />}
      actions={
        <div className="line">
          <label className="visually-hidden" htmlFor={id}>
            Order of steps
          </label>
          <select
            id={id}
            className="input input-narrow"
            value={sortsByFailures ? 'failing' : ''}
            onChange={(event) => set('order', event.target.value)}
          >
            <option value="">Slowest first</option>
            <option value="failing">Most failed attempts first</option>
          </select>
        </div>
      }
    />
  );
}

interface WorkflowDetailsProps {
  readonly url: string;
  readonly query: InsightsQuery;
  readonly data: WorkflowInsights;
}

function WorkflowDetails({ url, query, data }: WorkflowDetailsProps) {
  const instanceId = useInstanceId();
  return (
    <div className="insights">
      <Figures figures={totalsOf(data.totals)} />
      <RunCharts {...data} />
      <Steps query={query} />
      <ListSection
        title="Recent failures"
        rowsName="failures"
        query={query}
        rows={data.recentFailures}
        columns={FAILURE_COLUMNS}
        idOf={failureId}
        hrefOf={({ dlqId }) => path`/q/${instanceId}/dead-letters/${dlqId}`}
        empty={<EmptyState title="No dead letters for this workflow" />}
      />
      {isWorkerUrl(url) ? (
        <ListSection
          title="Worker versions"
          rowsName="versions"
          query={query}
          rows={data.versions}
          columns={VERSION_COLUMNS}
          idOf={versionId}
          empty={<EmptyState title="No connected worker with a version serves this workflow" />}
        />
      ) : null}
    </div>
  );
}

function Workflow({ url }: { readonly url: string }) {
  const instanceId = useInstanceId();
  const choice = useWindow();
  const query = useApi<WorkflowInsights>({
    topic: 'settings',
    name: 'workflow-insights',
    url: '/v2/insights/workflow',
    query: { workflowUrl: url, window: choice.window },
    refreshMs: REFRESH_MS,
    keepPrevious: true,
  });
  const { data, error, refetch } = query;
  return (
    <>
      <PageTitle
        title={`Workflow ${workflowName(url)}`}
        lead={<UrlText url={url} />}
        actions={
          <>
            <WindowSelect {...choice} />
            <Link to="/q/$instanceId/runs" params={{ instanceId }} search={{ url }} className="button">
              View runs
            </Link>
          </>
        }
      />
      {data !== undefined ? (
        <WorkflowDetails url={url} query={query} data={data} />
      ) : error === null ? (
        <Skeleton lines={9} />
      ) : (
        <ErrorState failure={error} onRetry={() => void refetch()} subject="this workflow" />
      )}
    </>
  );
}

export default function WorkflowPage() {
  const { url = '' }: Readonly<Record<string, string>> = useSearch({ strict: false });
  if (url !== '') return <Workflow key={url} url={url} />;
  return (
    <>
      <PageTitle title="Workflow" />
      <EmptyState title="No workflow selected">Select one on the Overview page.</EmptyState>
    </>
  );
}
