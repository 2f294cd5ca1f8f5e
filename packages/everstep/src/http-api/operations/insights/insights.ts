/** Insights: counters of runs over time, and the items that need attention now. */
import { parseWorkerUrl, truncateText } from '@everstep/sdk/protocol';
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { InsightWindow, InstanceInsights, WorkflowInsights } from '../../../contract/insights/insights.js';
import { DAY_MS, type RunCounts, startOfHour } from '../../../engine/insights/counts.js';
import { percentile } from '../../../engine/insights/histogram.js';
import type { InsightTime } from '../../../ports/stores/store.js';
import type { WorkerDirectory } from '../../../ports/workers.js';
import { type Operation, operation, respond } from '../../operation.js';
import { Text } from '../../parameters/values.js';
import { attentionOf } from '../../read-models/attention.js';
import { type InsightRange, presentSeries, rangeOf, readSeries } from '../../read-models/insight-series.js';

const TAG = 'Insights';
const MAX_WORKFLOWS = 20;
const MAX_STEPS = 100;
const MAX_VERSIONS = 20;
const MAX_FAILURES = 10;
const MAX_ERROR_LENGTH = 300;
/** Maximum number of due deliveries that are counted. */
const MAX_BACKLOG = 1_000;
const DEFAULT_WINDOW = '24h';

/** Returns the time range of sums. Minute counters may be deleted within a day, so a range of a day or more starts on the hour. */
const sumRangeOf = ({ from, to }: InsightRange): InsightTime => ({ from: to - from < DAY_MS ? from : startOfHour(from), to });

const getInsights = operation({
  operationId: 'getInsights',
  tag: TAG,
  summary: 'Get the insights of the queue instance',
  description:
    'Returns counters of all workflow runs over time, the workflows with the most runs, the current backlog and what needs attention now. The counters are exact; runs from before an upgrade to a version with insights are not included.',
  method: 'GET',
  path: '/v2/insights',
  unknownQuery: 'refuse',
  query: Type.Object({ window: Type.Optional(InsightWindow) }),
  responses: { 200: InstanceInsights },
  errors: ['bad-parameter'],
  async handle({ query: { window = DEFAULT_WINDOW } }, { reads, service, workers, storeRefusal }, { instanceId }) {
    const now = service.now();
    const range = rangeOf(window, now);
    const [series, totals, dueTasks, connections] = await Promise.all([
      readSeries(reads.insights, instanceId, 'runs', range),
      reads.insights.workflowTotals({ instanceId, ...sumRangeOf(range) }),
      reads.tasks.dueTasks({ before: now, after: null, limit: MAX_BACKLOG, instanceId }),
      workers.connectionsOf(instanceId),
    ]);
    const oldestDueAt = dueTasks[0]?.dueAt ?? null;
    const attention = await attentionOf({ reads, service, storeRefusal }, instanceId, oldestDueAt);
    return respond(200, {
      ...presentSeries(series, range),
      workflows: totals
        .toSorted((a, b) => b.started - a.started)
        .slice(0, MAX_WORKFLOWS)
        .map(({ workflow: workflowUrl, ...counts }) => ({ workflowUrl, ...counts })),
      now: { backlog: dueTasks.length, oldestDueAt, workers: connections.length, errors: attention.groupCount },
      attention: attention.items,
    });
  },
});

const presentSteps = ({ steps }: RunCounts): WorkflowInsights['steps'] =>
  [...steps]
    .map(([stepName, { finished, failures, totalMs, durations }]) => ({
      stepName,
      finished,
      failedAttempts: failures,
      meanMs: finished === 0 ? null : Math.round(totalMs / finished),
      p50Ms: percentile(durations, 0.5),
      p95Ms: percentile(durations, 0.95),
    }))
    .sort((a, b) => (b.p95Ms ?? -1) - (a.p95Ms ?? -1) || b.failedAttempts - a.failedAttempts)
    .slice(0, MAX_STEPS);

/** Returns the versions of the workers that serve the workflow, the one with the most workers first. */
async function versionsOf(workers: WorkerDirectory, instanceId: string, url: string): Promise<WorkflowInsights['versions']> {
  const workerUrl = parseWorkerUrl(url);
  if (!workerUrl) return [];
  const countByVersion = new Map<string, number>();
  for (const { app, workflows, version } of await workers.connectionsOf(instanceId))
    if (app === workerUrl.app && workflows.includes(workerUrl.workflow) && version !== undefined)
      countByVersion.set(version, (countByVersion.get(version) ?? 0) + 1);
  return [...countByVersion]
    .map(([version, count]) => ({ version, workers: count }))
    .sort((a, b) => b.workers - a.workers)
    .slice(0, MAX_VERSIONS);
}

const getWorkflowInsights = operation({
  operationId: 'getWorkflowInsights',
  tag: TAG,
  summary: 'Get the insights of a workflow',
  description:
    'Returns counters of the runs and steps of a workflow over time, its recent failures and the versions of its workers. A workflow without runs in the window has counters of 0.',
  method: 'GET',
  path: '/v2/insights/workflow',
  unknownQuery: 'refuse',
  query: Type.Object({
    workflowUrl: Text(LIMITS.maxWorkflowUrlLength, { description: 'URL of the workflow.' }),
    window: Type.Optional(InsightWindow),
  }),
  responses: { 200: WorkflowInsights },
  errors: ['bad-parameter'],
  async handle({ query: { workflowUrl, window = DEFAULT_WINDOW } }, { reads, service, workers }, { instanceId }) {
    const range = rangeOf(window, service.now());
    const [series, sum, failures, versions] = await Promise.all([
      readSeries(reads.insights, instanceId, { workflow: workflowUrl }, range),
      reads.insights.workflowSum({ instanceId, workflow: workflowUrl, ...sumRangeOf(range) }),
      reads.deadLetters.listDeadLetters({
        instanceId,
        filter: { kind: 'workflow', workflowUrls: [workflowUrl] },
        order: 'newest-first',
        after: null,
        horizon: null,
        limit: MAX_FAILURES,
      }),
      versionsOf(workers, instanceId, workflowUrl),
    ]);
    return respond(200, {
      ...presentSeries(series, range),
      steps: presentSteps(sum),
      recentFailures: failures.items.map(({ dlqId, run, createdAt, error }) => ({
        dlqId,
        workflowRunId: run.workflowRunId,
        failedAt: createdAt,
        error: truncateText(error, MAX_ERROR_LENGTH),
      })),
      versions,
    });
  },
});

export const insightOperations: readonly Operation[] = [getInsights, getWorkflowInsights];
