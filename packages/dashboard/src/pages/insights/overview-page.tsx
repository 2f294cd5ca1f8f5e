/** First page of an instance: runs, failures and durations over time, the backlog, and what needs attention now. */
import { lazy, Suspense, useEffect } from 'react';
import type { InstanceInsights } from '../../../../everstep/src/contract/insights/insights.js';
import type { RunSearchPage } from '../../../../everstep/src/contract/runs.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { loadPageFiles } from '../../api/page-files.js';
import { useApi } from '../../api/queries.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState, ErrorState, Skeleton } from '../../components/states.js';
import type { Column } from '../../components/tables/data-table.js';
import { countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { UrlText } from '../../components/url-text.js';
import { workflowPath } from '../../components/urls/workflow-link.js';
import { Attention } from './attention.js';
import { ListSection } from './list-section.js';
import { type Figure, Figures, REFRESH_MS, RunCharts, totalsOf } from './run-series.js';
import { useWindow, WindowSelect } from './window.js';
import './insights.css';

/** Most instances have runs, so its code is not part of the first page. */
const Quickstart = lazy(() => loadPageFiles(import('../quickstart/quickstart.js')));

/** Maximum number of due deliveries that the server counts. */
const MAX_BACKLOG = 1_000;

type WorkflowCounts = InstanceInsights['workflows'][number];

const COLUMNS: readonly Column<WorkflowCounts>[] = [
  {
    id: 'workflow',
    header: 'Workflow',
    width: 'minmax(0, 5fr)',
    isLink: true,
    cell: ({ workflowUrl }) => (workflowUrl === null ? 'Other workflows' : <UrlText url={workflowUrl} />),
  },
  {
    id: 'started',
    header: 'Started',
    sortBy: ({ started }) => started,
    width: '84px',
    align: 'right',
    cell: ({ started }) => countText(started),
  },
  {
    id: 'succeeded',
    header: 'Succeeded',
    sortBy: ({ succeeded }) => succeeded,
    width: '92px',
    align: 'right',
    shownFrom: 'medium',
    cell: ({ succeeded }) => countText(succeeded),
  },
  {
    id: 'failed',
    header: 'Failed',
    sortBy: ({ failed }) => failed,
    width: '76px',
    align: 'right',
    cell: ({ failed }) => countText(failed),
  },
  {
    id: 'canceled',
    header: 'Canceled',
    sortBy: ({ canceled }) => canceled,
    width: '84px',
    align: 'right',
    shownFrom: 'medium',
    cell: ({ canceled }) => countText(canceled),
  },
];

const idOf = ({ workflowUrl }: WorkflowCounts): string => workflowUrl ?? '';

const currentFigures = ({ backlog, oldestDueAt, workers }: InstanceInsights['now']): readonly Figure[] => [
  ['Backlog', backlog < MAX_BACKLOG ? countText(backlog) : `${countText(MAX_BACKLOG)}+`],
  ['Oldest pending', oldestDueAt === null ? 'None' : <TimeText key="oldest" unixMs={oldestDueAt} style="relative" />],
  ['Workers', countText(workers)],
];

type InsightsQuery = ReturnType<typeof useApi<InstanceInsights>>;

function Workflows({ query, window }: { readonly query: InsightsQuery; readonly window: string | undefined }) {
  const instanceId = useInstanceId();
  return (
    <ListSection
      title="Top workflows"
      rowsName="workflows"
      query={query}
      rows={query.data?.workflows}
      columns={COLUMNS}
      idOf={idOf}
      hrefOf={({ workflowUrl }) =>
        workflowUrl === null ? path`/q/${instanceId}/runs` : workflowPath(instanceId, workflowUrl, window)
      }
      empty={<EmptyState title="No runs in this time range" />}
    />
  );
}

/** Returns whether the instance has no runs at all, including before the time range; undefined while this is unknown. */
function useHasNoRuns({ data, refetch }: InsightsQuery): boolean | undefined {
  const hasCountedRuns = data !== undefined && data.workflows.length > 0;
  const { data: anyRuns, error } = useApi<RunSearchPage>({
    topic: 'runs',
    name: 'any',
    url: '/v2/workflows/search',
    query: { count: 1 },
    enabled: data !== undefined && !hasCountedRuns,
  });
  const hasRuns = anyRuns === undefined ? undefined : anyRuns.runs.length > 0;
  useEffect(() => {
    if (hasRuns === true) void refetch();
  }, [hasRuns, refetch]);
  return hasCountedRuns || error !== null ? false : hasRuns === undefined ? undefined : !hasRuns;
}

export default function OverviewPage() {
  const choice = useWindow();
  const query = useApi<InstanceInsights>({
    topic: 'settings',
    name: 'insights',
    url: '/v2/insights',
    query: { window: choice.window },
    refreshMs: REFRESH_MS,
    keepPrevious: true,
  });
  const { data, error, refetch } = query;
  const hasNoRuns = useHasNoRuns(query);
  const title = (
    <PageTitle title="Overview" actions={data === undefined || hasNoRuns !== false ? null : <WindowSelect {...choice} />} />
  );
  if (data === undefined || hasNoRuns === undefined)
    return (
      <>
        {title}
        {error === null ? (
          <Skeleton lines={9} />
        ) : (
          <ErrorState failure={error} onRetry={() => void refetch()} subject="insights" />
        )}
      </>
    );
  if (hasNoRuns)
    return (
      <>
        {title}
        <div className="table">
          <Suspense fallback={<Skeleton lines={8} />}>
            <Quickstart />
          </Suspense>
        </div>
      </>
    );
  return (
    <>
      {title}
      <div className="insights">
        <Figures figures={[...totalsOf(data.totals), ...currentFigures(data.now)]} />
        <Attention items={data.attention} errors={data.now.errors} />
        <RunCharts {...data} />
        <Workflows key={data.intervalMs} query={query} window={choice.parameter} />
      </div>
    </>
  );
}
