/** `everstep dlq list|get|groups|check|resume|restart|delete|callback` */
import type { Client, DeadLetterEntry, RunOverrides, RunReference } from '@everstep/sdk';
import { Command } from 'commander';
import { DEAD_LETTER_FILTERS } from '../../../contract/filters/dead-letter-filters.js';
import type { RequestFilters } from '../../../contract/filters/filter.js';
import { wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { instant, json, printable, type Shell, shorten, styled, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';
import { flowControlLimits } from '../control/flow-control-limits.js';
import { filtersOf, hasValues, withFilters } from '../filter-options.js';
import { failureCallbackCommand } from '../runs/failure-callbacks.js';
import { overridesIn, withOverrides } from '../runs/run-settings.js';
import { dlqCheckCommand } from '../runs/run-tools.js';
import { deadLetterGroupsCommand } from './dead-letter-groups.js';
import { failureText } from './error-text.js';

const DEFAULT_COUNT = 100;
const PAGE_SIZE = 100;
const MAX_ERROR_LENGTH = 500;

const withDeadLetterFilters = (command: Command): Command => withFilters(command, DEAD_LETTER_FILTERS, 'dead letters');

interface ListOptions extends ClientOptions {
  readonly count: number;
  readonly all?: boolean;
  readonly oldestFirst?: boolean;
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withDeadLetterFilters(withConnection(new Command('list')))
    .description('List dead letters: runs that failed after all retries, newest first.')
    .option('--oldest-first', 'list the oldest dead letters first')
    .option('--count <number>', 'maximum number of dead letters', wholeNumber('--count', 1), DEFAULT_COUNT)
    .option('--all', 'list all dead letters');
  return command.action(async () => {
    const { client, options } = await openClient<ListOptions>(command, shell);
    const limit = options.all ? Number.POSITIVE_INFINITY : options.count;
    const entries: DeadLetterEntry[] = [];
    for await (const entry of client.dlq.entries({
      ...filtersOf(DEAD_LETTER_FILTERS, command),
      ...(options.oldestFirst ? { order: 'oldest-first' } : {}),
      count: Math.min(limit, PAGE_SIZE),
    })) {
      entries.push(entry);
      if (entries.length >= limit) break;
    }
    if (options.json) return screen.write(json({ messages: entries }));
    if (entries.length === 0) return screen.write('No matching dead letters.\n');
    const rows = entries.map((entry) => [
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
  const command = withConnection(new Command('get'))
    .description('Show a dead letter.')
    .argument('<dlqId>', 'id of the dead letter');
  return command.action(async (dlqId: string) => {
    const { client, options } = await openClient(command, shell);
    const entry = await client.dlq.get(dlqId);
    if (options.json) return screen.write(json(entry));
    const { failedBy, ...fields } = entry;
    if (failedBy) screen.write(`${failureText(screen, failedBy)}\n`);
    for (const [name, value] of Object.entries(fields)) {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      screen.write(`${styled(screen, 'dim', name.padEnd(22))}${printable(text)}\n`);
    }
  });
}

interface SelectionOptions extends ClientOptions {
  readonly all?: boolean;
  readonly count?: number;
}

type Selection =
  | { readonly dlqId: string }
  | { readonly filter: RequestFilters<typeof DEAD_LETTER_FILTERS> & { readonly count?: number } };

/** Returns the selected dead letters. Throws UsageError unless either an id or --all is given. */
function selectionOf(dlqId: string | undefined, command: Command): Selection {
  const options = command.opts<SelectionOptions>();
  const filter = filtersOf(DEAD_LETTER_FILTERS, command);
  const isBulk = options.all === true || hasValues(filter) || options.count !== undefined;
  if (dlqId !== undefined) {
    if (isBulk) throw new UsageError('Give either a dead letter id or --all with filters, not both.');
    return { dlqId };
  }
  if (!options.all) throw new UsageError('Give a dead letter id, or --all (optionally with filters).');
  return { filter: { ...filter, count: options.count } };
}

const withSelection = (command: Command, outcome: string): Command =>
  withDeadLetterFilters(withConnection(command))
    .argument('[dlqId]', 'id of one dead letter')
    .option('--all', `all matching dead letters are ${outcome}; without filters, all dead letters`)
    .option('--count <number>', 'with --all: maximum number of dead letters', wholeNumber('--count', 1));

interface OverrideOptions {
  readonly setFlowControlKey?: string;
  readonly setFlowControl?: string;
  readonly setFailureCallback?: string;
  readonly newRunId?: string;
}

/** Settings that can be replaced for a single dead letter, and those that require --all. */
const SINGLE_OVERRIDES = ['retries'] as const;
const BULK_OVERRIDES = ['delay', 'retryDelay', 'labels'] as const;

const withRecoveryOptions = (command: Command): Command =>
  withOverrides(withOverrides(command, SINGLE_OVERRIDES), BULK_OVERRIDES, 'with --all: ')
    .option('--new-run-id <id>', 'id of the new run (single dead letter only)')
    .option('--set-flow-control-key <key>', 'flow control key of the new run')
    .option('--set-flow-control <limits>', 'limits of the key: "parallelism=<n>, rate=<n>, period=<duration>"')
    .option('--set-failure-callback <url>', 'with --all: failure callback of the new runs');

function flowControlOf({ setFlowControlKey: key, setFlowControl }: OverrideOptions): RunOverrides['flowControl'] {
  if (key === undefined && setFlowControl === undefined) return undefined;
  return { ...(key === undefined ? {} : { key }), ...flowControlLimits('--set-flow-control', setFlowControl) };
}

/** Starts the new runs, and passes each of them to `started`. */
async function recover(
  client: Client,
  verb: 'resume' | 'restart',
  { selection, command, started }: { selection: Selection; command: Command; started: (run: RunReference) => void },
): Promise<void> {
  const options = command.opts<OverrideOptions>();
  const { newRunId: runId, setFailureCallback: failureCallback } = options;
  const { retries } = overridesIn(command, SINGLE_OVERRIDES);
  const bulkOverrides = { ...overridesIn(command, BULK_OVERRIDES), failureCallback };
  const flowControl = flowControlOf(options);
  if ('dlqId' in selection) {
    if (hasValues(bulkOverrides)) {
      throw new UsageError(
        'A single dead letter accepts --new-run-id, --set-retries and --set-flow-control*. The other options require --all.',
      );
    }
    return started(await client.dlq[verb](selection.dlqId, { runId, retries, flowControl }));
  }
  if (runId !== undefined) throw new UsageError('--new-run-id requires a single dead letter.');
  const overrides: RunOverrides = { retries, flowControl, ...bulkOverrides };
  const recoveredRuns =
    verb === 'resume' ? client.dlq.resumeAll(selection.filter, overrides) : client.dlq.restartAll(selection.filter, overrides);
  for await (const run of recoveredRuns) started(run);
}

/**
 * Performs the requests of a bulk command, and prints its result. If a request fails after others have changed something, also
 * prints the result, and then throws the error. `countDone` returns the number of dead letters that have been changed.
 */
async function printAlsoIfPartial(
  shell: Shell,
  outcome: 'resumed' | 'restarted' | 'deleted',
  { work, countDone, print }: { work: () => Promise<void>; countDone: () => number; print: () => void },
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const doneCount = countDone();
    if (doneCount > 0) {
      print();
      const subject = doneCount === 1 ? '1 dead letter was' : `${doneCount} dead letters were`;
      shell.printError(`${subject} ${outcome} before the command failed.\n`);
    }
    throw error;
  }
  print();
}

function recoverCommand(shell: Shell, verb: 'resume' | 'restart', description: string): Command {
  const { screen } = shell;
  const outcome = verb === 'resume' ? 'resumed' : 'restarted';
  const command = withRecoveryOptions(withSelection(new Command(verb), outcome)).description(description);
  return command.action(async (dlqId: string | undefined) => {
    const selection = selectionOf(dlqId, command);
    const { client, options } = await openClient(command, shell);
    const workflowRuns: RunReference[] = [];
    await printAlsoIfPartial(shell, outcome, {
      work: () => recover(client, verb, { selection, command, started: (run) => workflowRuns.push(run) }),
      countDone: () => workflowRuns.length,
      print() {
        if (options.json) return screen.write(json({ workflowRuns }));
        if (workflowRuns.length === 0) return screen.write('No matching dead letters.\n');
        const rows = workflowRuns.map((run) => [run.workflowRunId, instant(run.workflowCreatedAt)]);
        screen.write(table(screen, ['NEW RUN', 'CREATED (UTC)'], rows));
      },
    });
  });
}

function deleteCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withSelection(new Command('delete'), 'deleted').description(
    'Delete dead letters. The runs stay in the run log.',
  );
  return command.action(async (dlqId: string | undefined) => {
    const selection = selectionOf(dlqId, command);
    const { client, options } = await openClient(command, shell);
    let deletedCount = 0;
    const deleteSelected = async (): Promise<void> => {
      if ('dlqId' in selection) {
        await client.dlq.delete(selection.dlqId);
        deletedCount = 1;
        return;
      }
      // The API requires a filter for a deletion; --all without one selects everything.
      const isFiltered = hasValues({ ...selection.filter, count: undefined });
      const filter = isFiltered ? selection.filter : { ...selection.filter, fromDate: 0 };
      let cursor: string | undefined;
      do {
        const page = await client.dlq.deleteMany({ ...filter, ...(cursor === undefined ? {} : { cursor }) });
        deletedCount += page.deleted;
        cursor = page.cursor;
      } while (cursor);
    };
    await printAlsoIfPartial(shell, 'deleted', {
      work: deleteSelected,
      countDone: () => deletedCount,
      print: () => screen.write(options.json ? json({ deleted: deletedCount }) : `${deletedCount} deleted\n`),
    });
  });
}

export function deadLetterCommand(shell: Shell): Command {
  const resumeDescription = 'Start new runs that continue from the failed step and keep the recorded results.';
  const restartDescription = 'Start new runs from the first step, with the original payload and settings.';
  return new Command('dlq')
    .description('Manage dead letters: runs that failed after all retries.')
    .addCommand(listCommand(shell))
    .addCommand(getCommand(shell))
    .addCommand(deadLetterGroupsCommand(shell))
    .addCommand(dlqCheckCommand(shell, withDeadLetterFilters(withConnection(new Command('check')))))
    .addCommand(recoverCommand(shell, 'resume', resumeDescription))
    .addCommand(recoverCommand(shell, 'restart', restartDescription))
    .addCommand(deleteCommand(shell))
    .addCommand(failureCallbackCommand(shell));
}
