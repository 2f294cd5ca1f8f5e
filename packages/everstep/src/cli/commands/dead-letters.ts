/** `everstep dlq list|get|groups|check|resume|restart|delete|callback` */
import type { Client, DeadLetterEntry, FailureFunctionState, RunOverrides, RunReference } from '@everstep/sdk';
import { Command } from 'commander';
import { collected, wholeNumber } from '../arguments.js';
import { UsageError } from '../exit-codes.js';
import { instant, json, printable, type Shell, shorten, styled, table } from '../output.js';
import { type ClientOptions, open, withConnection } from './connection-options.js';
import { deadLetterGroupsCommand } from './dead-letter-groups.js';
import { failureCallbackCommand } from './failure-callbacks.js';
import { flowControlLimits } from './flow-control-limits.js';
import { hasFilter, type RunFilterOptions, runFilter, withRunFilters } from './run-filters.js';
import { checkEntries } from './run-tools.js';

const CALLBACK_STATES = ['CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL', 'CALLBACK_CANCELED'] as const;
const DEFAULT_SHOWN = 100;
const PAGE_SIZE = 100;
const MAX_ERROR_LENGTH = 80;

interface FilterOptions extends RunFilterOptions {
  readonly workflowUrl?: readonly string[];
  readonly failureFunctionState?: readonly FailureFunctionState[];
  readonly fingerprint?: readonly string[];
}

function callbackState(text: string, before: readonly FailureFunctionState[] | undefined): readonly FailureFunctionState[] {
  const found = CALLBACK_STATES.find((name) => name === text);
  if (!found) throw new UsageError(`--failure-function-state must be one of ${CALLBACK_STATES.join(', ')}; it is "${text}"`);
  return [...(before ?? []), found];
}

const withFilters = (command: Command): Command =>
  withRunFilters(command, 'entries')
    .option('--workflow-url <url>', 'entries of this workflow; may be repeated', collected)
    .option('--failure-function-state <state>', 'entries whose failure function is in this state; may be repeated', callbackState)
    .option('--fingerprint <fingerprint>', 'entries of this group; may be repeated', collected);

const filterOf = (options: FilterOptions) => ({
  ...runFilter(options),
  workflowUrl: options.workflowUrl,
  failureFunctionState: options.failureFunctionState,
  fingerprint: options.fingerprint,
});

interface ListOptions extends ClientOptions, FilterOptions {
  readonly count: number;
  readonly all?: boolean;
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withFilters(withConnection(new Command('list')))
    .description('List the runs that failed after all retries, newest first.')
    .option('--count <number>', 'how many at most', wholeNumber('--count', 1), DEFAULT_SHOWN)
    .option('--all', 'all of them');
  return command.action(async () => {
    const { client, options } = await open<ListOptions>(command, shell);
    const limit = options.all ? Number.POSITIVE_INFINITY : options.count;
    const messages: DeadLetterEntry[] = [];
    for await (const entry of client.dlq.entries({ ...filterOf(options), count: Math.min(limit, PAGE_SIZE) })) {
      messages.push(entry);
      if (messages.length >= limit) break;
    }
    if (options.json) return screen.write(json({ messages }));
    if (messages.length === 0) return screen.write('There are no such entries.\n');
    const rows = messages.map((entry) => [
      entry.dlqId,
      instant(entry.createdAt),
      entry.workflowRunId,
      entry.workflowUrl,
      entry.failureFunctionState,
      shorten(entry.error, MAX_ERROR_LENGTH),
    ]);
    screen.write(table(screen, ['ENTRY', 'FAILED (UTC)', 'RUN', 'WORKFLOW', 'FAILURE FUNCTION', 'ERROR'], rows));
  });
}

function getCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('get')).description('Show an entry.').argument('<dlqId>', 'id of the entry');
  return command.action(async (dlqId: string) => {
    const { client, options } = await open(command, shell);
    const entry = await client.dlq.get(dlqId);
    if (options.json) return screen.write(json(entry));
    for (const [name, value] of Object.entries(entry)) {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      screen.write(`${styled(screen, 'dim', name.padEnd(22))}${printable(text)}\n`);
    }
  });
}

interface BulkChoice extends ClientOptions, FilterOptions {
  readonly all?: boolean;
  readonly count?: number;
}

type Chosen = { readonly dlqId: string } | { readonly filter: ReturnType<typeof filterOf> & { readonly count?: number } };

/** One entry by its id, or all that match: said with --all, so that a forgotten id does not hit everything. */
function chosen(dlqId: string | undefined, options: BulkChoice): Chosen {
  const filter = filterOf(options);
  const bulk = options.all === true || hasFilter(filter) || options.count !== undefined;
  if (dlqId !== undefined) {
    if (bulk) throw new UsageError('Name an entry, or choose several with filters and --all; not both.');
    return { dlqId };
  }
  if (!options.all) throw new UsageError('Name an entry, or give --all (with filters, if not all of them are meant).');
  return { filter: { ...filter, count: options.count } };
}

const withChoice = (command: Command, done: string): Command =>
  withFilters(withConnection(command))
    .argument('[dlqId]', 'id of one entry')
    .option('--all', `all entries that match the filters, or all there are, are ${done}`)
    .option('--count <number>', 'with --all: how many at most', wholeNumber('--count', 1));

interface OverrideOptions {
  readonly setRetries?: number;
  readonly setDelay?: string;
  readonly setRetryDelay?: string;
  readonly setFlowControlKey?: string;
  readonly setFlowControl?: string;
  readonly setLabel?: readonly string[];
  readonly setFailureCallback?: string;
  readonly newRunId?: string;
}

const withOverrides = (command: Command): Command =>
  command
    .option('--new-run-id <id>', 'one entry: id of the new run')
    .option('--set-retries <number>', 'retries of the new run', wholeNumber('--set-retries'))
    .option('--set-flow-control-key <key>', 'flow control key of the new run')
    .option('--set-flow-control <limits>', '"parallelism=<n>, rate=<n>, period=<duration>"')
    .option('--set-delay <duration>', 'with --all: start later')
    .option('--set-retry-delay <expression>', 'with --all: retry delay of the new runs')
    .option('--set-label <label>', 'with --all: label of the new runs; may be repeated', collected)
    .option('--set-failure-callback <url>', 'with --all: failure callback of the new runs');

function flowControlOf({ setFlowControlKey: key, setFlowControl }: OverrideOptions): RunOverrides['flowControl'] {
  if (key === undefined && setFlowControl === undefined) return undefined;
  return { ...(key === undefined ? {} : { key }), ...flowControlLimits('--set-flow-control', setFlowControl) };
}

async function recover(client: Client, verb: 'resume' | 'restart', choice: Chosen, options: OverrideOptions) {
  const { setRetries: retries, newRunId: runId } = options;
  const flowControl = flowControlOf(options);
  if ('dlqId' in choice) {
    const bulkOnly = [options.setDelay, options.setRetryDelay, options.setLabel, options.setFailureCallback];
    if (bulkOnly.some((value) => value !== undefined)) {
      throw new UsageError('A single entry takes --new-run-id, --set-retries and --set-flow-control*; the others go with --all.');
    }
    return [await client.dlq[verb](choice.dlqId, { runId, retries, flowControl })];
  }
  if (runId !== undefined) throw new UsageError('--new-run-id goes with a single entry.');
  const overrides: RunOverrides = {
    retries,
    flowControl,
    delay: options.setDelay,
    retryDelay: options.setRetryDelay,
    labels: options.setLabel,
    failureCallback: options.setFailureCallback,
  };
  const runs: RunReference[] = [];
  const all =
    verb === 'resume' ? client.dlq.resumeAll(choice.filter, overrides) : client.dlq.restartAll(choice.filter, overrides);
  for await (const run of all) runs.push(run);
  return runs;
}

function recoverCommand(shell: Shell, verb: 'resume' | 'restart', description: string): Command {
  const { screen } = shell;
  const command = withOverrides(withChoice(new Command(verb), `${verb}${verb === 'resume' ? 'd' : 'ed'}`)).description(
    description,
  );
  return command.action(async (dlqId: string | undefined) => {
    const choice = chosen(dlqId, command.opts<BulkChoice>());
    const { client, options } = await open<BulkChoice & OverrideOptions>(command, shell);
    const workflowRuns = await recover(client, verb, choice, options);
    if (options.json) return screen.write(json({ workflowRuns }));
    if (workflowRuns.length === 0) return screen.write('There are no such entries.\n');
    const rows = workflowRuns.map((run) => [run.workflowRunId, instant(run.workflowCreatedAt)]);
    screen.write(table(screen, ['NEW RUN', 'CREATED (UTC)'], rows));
  });
}

function deleteCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withChoice(new Command('delete'), 'deleted').description('Delete entries; their runs stay in the log.');
  return command.action(async (dlqId: string | undefined) => {
    const choice = chosen(dlqId, command.opts<BulkChoice>());
    const { client, options } = await open(command, shell);
    let deleted = 1;
    if ('dlqId' in choice) await client.dlq.delete(choice.dlqId);
    else {
      // The service wants a filter for a deletion; --all without one says that everything is meant.
      const { filter } = choice;
      deleted = await client.dlq.deleteAll(hasFilter({ ...filter, count: undefined }) ? filter : { ...filter, fromDate: 0 });
    }
    screen.write(options.json ? json({ deleted }) : `${deleted} deleted\n`);
  });
}

export function deadLetterCommand(shell: Shell): Command {
  const resume = 'Make new runs that go on from the failed step, keeping the results so far.';
  const restart = 'Make new runs that begin at the first step, with the original payload and settings.';
  return new Command('dlq')
    .description('The dead letter queue: list, get, groups, check, resume, restart, delete, callback.')
    .addCommand(listCommand(shell))
    .addCommand(getCommand(shell))
    .addCommand(deadLetterGroupsCommand(shell))
    .addCommand(checkEntries<ClientOptions & FilterOptions>(shell, withFilters(withConnection(new Command('check'))), filterOf))
    .addCommand(recoverCommand(shell, 'resume', resume))
    .addCommand(recoverCommand(shell, 'restart', restart))
    .addCommand(deleteCommand(shell))
    .addCommand(failureCallbackCommand(shell));
}
