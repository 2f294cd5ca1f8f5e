/** `everstep runs list|search|get|attempts|explain|fork|compare|lineage|check|cancel` */
import type { RunJournal, RunLogEntry, RunOrigin } from '@everstep/sdk';
import { Command } from 'commander';
import { CANCEL_FILTERS, RUN_FILTERS } from '../../../contract/filters/run-filters.js';
import { timestampMs, wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { pageOf } from '../../journal-page.js';
import { duration, instant, json, printable, type Screen, type Shell, styled, table } from '../../output.js';
import { RunProgressPrinter } from '../../run-progress.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';
import { filtersOf, hasValues, withFilters } from '../filter-options.js';
import { explainCommand } from './explain.js';
import { attemptsCommand, searchRunsCommand } from './run-search.js';
import { checkCommand, compareCommand, forkCommand, lineageCommand } from './run-tools.js';
import { stateText } from './state-text.js';

const DEFAULT_COUNT = 20;
const PAGE_SIZE = 10;

/** Returns at most `limit` items of a paginated listing. */
async function takeFirst<Item>(listing: AsyncIterable<Item>, limit: number): Promise<readonly Item[]> {
  const items: Item[] = [];
  if (limit === 0) return items;
  for await (const item of listing) {
    items.push(item);
    if (items.length >= limit) break;
  }
  return items;
}

const durationText = (run: { readonly workflowRunCreatedAt: number; readonly workflowRunCompletedAt?: number }): string =>
  run.workflowRunCompletedAt === undefined ? '-' : duration(run.workflowRunCompletedAt - run.workflowRunCreatedAt);

interface ListOptions extends ClientOptions {
  readonly count: number;
  readonly all?: boolean;
  readonly oldestFirst?: boolean;
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withFilters(withConnection(new Command('list')), RUN_FILTERS, 'runs')
    .description('List runs, newest first.')
    .option('--oldest-first', 'list the oldest runs first')
    .option('--count <number>', 'maximum number of runs', wholeNumber('--count', 1), DEFAULT_COUNT)
    .option('--all', 'list all runs');
  return command.action(async () => {
    const { client, options } = await openClient<ListOptions>(command, shell);
    const limit = options.all ? Number.POSITIVE_INFINITY : options.count;
    const order = options.oldestFirst ? ({ order: 'oldest-first' } as const) : {};
    const filter = { ...filtersOf(RUN_FILTERS, command), ...order, count: Math.min(limit, PAGE_SIZE) };
    const runs = await takeFirst<RunLogEntry>(client.runs.entries(filter), limit);
    if (options.json) return screen.write(json({ runs }));
    if (runs.length === 0) return screen.write('No matching runs.\n');
    const rows = runs.map((run) => [
      run.workflowRunId,
      stateText(run),
      instant(run.workflowRunCreatedAt),
      durationText(run),
      run.workflowUrl,
      run.labels.join(',') || '-',
    ]);
    screen.write(table(screen, ['RUN', 'STATE', 'CREATED (UTC)', 'DURATION', 'WORKFLOW', 'LABELS'], rows));
  });
}

/** Describes the origin of a run that was not triggered directly. */
function originText({ kind, workflowRunId = '', stepId, stepName = '', scheduleId = '', note }: RunOrigin): string {
  switch (kind) {
    case 'resume':
    case 'restart':
      return `${kind} of ${workflowRunId}`;
    case 'fork':
      return `fork of ${workflowRunId} from step ${stepId}${note === undefined ? '' : ` (${note})`}`;
    case 'invoke':
      return `step "${stepName}" of ${workflowRunId}`;
    case 'schedule':
      return `schedule ${scheduleId}`;
  }
}

function showRun(screen: Screen, run: RunJournal): void {
  const field = (name: string, value: string | undefined) => {
    if (value !== undefined) screen.write(`${styled(screen, 'dim', name.padEnd(10))}${printable(value)}\n`);
  };
  const { workflowRunOrigin: origin, workflowRunBecame: successor } = run;
  field('run', run.workflowRunId);
  field('state', run.workflowState);
  field('waiting', run.waiting?.text);
  field('workflow', run.workflowUrl);
  field('created', `${instant(run.workflowRunCreatedAt)} (${run.workflowRunCreatedAt})`);
  field('took', run.workflowRunCompletedAt === undefined ? undefined : durationText(run));
  field('labels', run.labels.length > 0 ? run.labels.join(', ') : undefined);
  field('flow key', run.flowControlKey);
  field('dlq', run.dlqId);
  field('from', origin && originText(origin));
  field('successor', successor && `${successor.workflowRunId} by ${successor.kind}`);
  for (const child of run.invokedRuns ?? []) field('invoked', `${child.workflowRunId} ${child.workflowState}`);
  field('error', run.error);
  field('result', run.result === undefined ? undefined : JSON.stringify(run.result));
  new RunProgressPrinter(screen).print(pageOf(run));
}

function getCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('get'))
    .description('Show a run with its steps and failed attempts.')
    .argument('<runId>', 'id of the run')
    .option('--created-at <instant>', 'creation time, if several runs share the id (Unix ms)', timestampMs('--created-at'));
  return command.action(async (runId: string) => {
    const { client, options } = await openClient<ClientOptions & { readonly createdAt?: number }>(command, shell);
    const run = await client.runs.get(runId, { workflowCreatedAt: options.createdAt });
    if (options.json) screen.write(json(run));
    else showRun(screen, run);
  });
}

interface CancelOptions extends ClientOptions {
  readonly workflowUrl?: string;
  readonly exact?: boolean;
}

function cancelCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withFilters(withConnection(new Command('cancel')), CANCEL_FILTERS, 'runs')
    .description('Cancel active runs, by id or by filters.')
    .argument('[runIds...]', 'ids of runs')
    .option('--workflow-url <url>', 'runs of workflows whose URL starts with this')
    .option('--exact', 'match --workflow-url exactly');
  return command.action(async (runIds: readonly string[]) => {
    const { client, options } = await openClient<CancelOptions>(command, shell);
    const { workflowUrl, exact: workflowUrlExactMatch } = options;
    const filters = { ...filtersOf(CANCEL_FILTERS, command), workflowUrl };
    if (hasValues(filters) === runIds.length > 0) throw new UsageError('Specify either run ids or filters, not both.');
    const [onlyId] = runIds;
    let canceledCount = 1;
    // With a single id, a run that is missing or not active is an error.
    if (onlyId !== undefined && runIds.length === 1) await client.runs.cancel(onlyId);
    else if (runIds.length > 0) canceledCount = (await client.runs.cancelMany({ workflowRunIds: runIds })).cancelled;
    else canceledCount = (await client.runs.cancelMany({ ...filters, workflowUrlExactMatch })).cancelled;
    screen.write(options.json ? json({ cancelled: canceledCount }) : `${canceledCount} canceled\n`);
  });
}

export function runsCommand(shell: Shell): Command {
  return new Command('runs')
    .description('List, inspect, fork and cancel runs.')
    .addCommand(listCommand(shell))
    .addCommand(searchRunsCommand(shell))
    .addCommand(getCommand(shell))
    .addCommand(attemptsCommand(shell))
    .addCommand(explainCommand(shell))
    .addCommand(forkCommand(shell))
    .addCommand(compareCommand(shell))
    .addCommand(lineageCommand(shell))
    .addCommand(checkCommand(shell))
    .addCommand(cancelCommand(shell));
}
