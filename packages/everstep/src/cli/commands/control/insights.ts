/** `everstep insights` */
import type { InsightTotals, InsightWindow, InstanceInsights, WorkflowInsights } from '@everstep/sdk';
import { Command, Option } from 'commander';
import { INSIGHT_WINDOWS } from '../../../contract/insights/insights.js';
import { type Cell, duration, instant, json, type Screen, type Shell, shorten, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';

const MAX_TEXT_LENGTH = 100;
const TOTALS_HEAD = ['STARTED', 'SUCCEEDED', 'FAILED', 'CANCELED', 'MEDIAN', '95TH PERCENTILE'] as const;
const WORKFLOWS_HEAD = ['WORKFLOW', 'STARTED', 'SUCCEEDED', 'FAILED', 'CANCELED'] as const;
const NOW_HEAD = ['BACKLOG', 'OLDEST PENDING (UTC)', 'WORKERS', 'ERRORS'] as const;
const ATTENTION_HEAD = ['NEEDS ATTENTION', 'COUNT', 'SINCE (UTC)', 'TEXT'] as const;
const STEPS_HEAD = ['STEP', 'FINISHED', 'FAILED ATTEMPTS', 'MEAN', 'MEDIAN', '95TH PERCENTILE'] as const;
const FAILURES_HEAD = ['DEAD LETTER', 'RUN', 'FAILED (UTC)', 'ERROR'] as const;
const VERSIONS_HEAD = ['VERSION', 'WORKERS'] as const;

interface InsightOptions extends ClientOptions {
  readonly window?: InsightWindow;
}

const durationCell = (ms: number | null): Cell => (ms === null ? null : duration(ms));

const totalsRow = ({ started, succeeded, failed, canceled, p50Ms, p95Ms }: InsightTotals): readonly Cell[] => [
  started,
  succeeded,
  failed,
  canceled,
  durationCell(p50Ms),
  durationCell(p95Ms),
];

/** Returns a table after an empty line, or an empty text if there are no rows. */
const section = (screen: Screen, head: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  rows.length === 0 ? '' : `\n${table(screen, head, rows)}`;

function instanceText(screen: Screen, { totals, workflows, now, attention }: InstanceInsights): string {
  const nowRow: readonly Cell[] = [now.backlog, instant(now.oldestDueAt), now.workers, now.errors];
  return [
    table(screen, TOTALS_HEAD, [totalsRow(totals)]),
    section(screen, NOW_HEAD, [nowRow]),
    section(
      screen,
      ATTENTION_HEAD,
      attention.map(({ kind, subject, text, count, since }) => [
        subject === '' ? kind : `${kind} ${subject}`,
        count,
        instant(since),
        shorten(text, MAX_TEXT_LENGTH),
      ]),
    ),
    section(
      screen,
      WORKFLOWS_HEAD,
      workflows.map(({ workflowUrl, started, succeeded, failed, canceled }) => [
        workflowUrl ?? 'other workflows',
        started,
        succeeded,
        failed,
        canceled,
      ]),
    ),
  ].join('');
}

const stepText = (name: string | null): string => (name === null ? 'other steps' : name === '' ? 'workflow code' : name);

function workflowText(screen: Screen, { totals, steps, recentFailures, versions }: WorkflowInsights): string {
  return [
    table(screen, TOTALS_HEAD, [totalsRow(totals)]),
    section(
      screen,
      STEPS_HEAD,
      steps.map(({ stepName, finished, failedAttempts, meanMs, p50Ms, p95Ms }) => [
        stepText(stepName),
        finished,
        failedAttempts,
        durationCell(meanMs),
        durationCell(p50Ms),
        durationCell(p95Ms),
      ]),
    ),
    section(
      screen,
      FAILURES_HEAD,
      recentFailures.map(({ dlqId, workflowRunId, failedAt, error }) => [
        dlqId,
        workflowRunId,
        instant(failedAt),
        shorten(error, MAX_TEXT_LENGTH),
      ]),
    ),
    section(
      screen,
      VERSIONS_HEAD,
      versions.map(({ version, workers }) => [version, workers]),
    ),
  ].join('');
}

export function insightsCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('insights'))
    .description('Show how many runs started, succeeded and failed, how long they took, and what needs attention.')
    .argument('[workflow]', 'URL of a workflow, to show its steps and recent failures instead')
    .addOption(new Option('--window <window>', 'period to show, which ends now').choices(INSIGHT_WINDOWS).default('24h'));
  return command.action(async (workflow: string | undefined) => {
    const { client, options } = await openClient<InsightOptions>(command, shell);
    const query = options.window === undefined ? {} : { window: options.window };
    if (workflow === undefined) {
      const insights = await client.insights.get(query);
      return screen.write(options.json ? json(insights) : instanceText(screen, insights));
    }
    const insights = await client.insights.workflow(workflow, query);
    screen.write(options.json ? json(insights) : workflowText(screen, insights));
  });
}
