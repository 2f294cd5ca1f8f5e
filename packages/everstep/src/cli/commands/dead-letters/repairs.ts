/** `everstep repair plan|start|watch|show|list|pause|continue|abort` */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client, Repair, RepairAction, RepairItem, RepairOverrides, RepairState } from '@everstep/sdk';
import { Command } from 'commander';
import { LIMITS } from '../../../config/limits.js';
import { REPAIR_FILTERS } from '../../../contract/filters/dead-letter-filters.js';
import { collectValue, durationMs, wholeNumber } from '../../arguments.js';
import { EXIT, UsageError } from '../../exit-codes.js';
import { json, type Shell } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';
import { flowControlLimits } from '../control/flow-control-limits.js';
import { filtersOf, hasValues, withFilters } from '../filter-options.js';
import { overridesIn, withOverrides } from '../runs/run-settings.js';
import { progressLine, repairItemTable, repairReport, repairTable } from './repair-report.js';

const ACTIONS: readonly RepairAction[] = ['resume', 'restart', 'delete'];
const WATCH_EVERY_MS = 1_000;
const PLANNING_POLL_MS = 500;
const DEFAULT_COUNT = 20;
const MAX_PAGE_SIZE = 100;
const ITEMS_PER_PAGE = 1_000;
/** States in which a repair waits for a decision or has ended. */
const RESTING_STATES: readonly RepairState[] = ['planned', 'canary-passed', 'paused', 'stopped', 'aborted', 'done'];

const parseRate =
  (name: string) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
      throw new UsageError(`${name} must be a positive number, such as 5 or 0.5; got "${text}"`);
    return value;
  };

const parsePercent = (text: string): number => {
  const value = Number(text.replace(/%$/, ''));
  if (text.trim() === '' || !(value >= 0 && value <= 100))
    throw new UsageError(`--max-failures must be a percentage from 0 to 100; got "${text}"`);
  return value;
};

interface PlanOptions extends ClientOptions {
  readonly all?: boolean;
  readonly setFlowControlKey?: string;
  readonly setFlowControl?: string;
}

/** Settings that a repair can replace. There is no delay, because a repair starts its runs at its own pace. */
const OVERRIDES = ['retries', 'retryDelay', 'labels'] as const;

function overridesOf(command: Command, options: PlanOptions): RepairOverrides {
  const { setFlowControlKey: key, setFlowControl } = options;
  const { parallelism, rate: startsPerPeriod, period } = flowControlLimits('--set-flow-control', setFlowControl);
  const flowControl = {
    key,
    parallelism,
    rate: startsPerPeriod,
    periodMs: period === undefined ? undefined : durationMs('--set-flow-control period')(period),
  };
  const { retries, retryDelay, labels } = overridesIn(command, OVERRIDES);
  return { retries, retryDelay, labels, ...(hasValues(flowControl) ? { flowControl } : {}) };
}

/** Waits until all dead letters of the plan are selected. Resolves with the repair. */
async function waitForPlan(client: Client, plannedRepair: Repair): Promise<Repair> {
  let repair = plannedRepair;
  while (repair.state === 'planning') {
    await pause(PLANNING_POLL_MS);
    repair = await client.repairs.get(repair.repairId);
  }
  return repair;
}

function planCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withFilters(withConnection(new Command('plan')), REPAIR_FILTERS, 'dead letters')
    .description('Plan a repair: select dead letters and show what the repair would do. Changes nothing.')
    .argument('<action>', ACTIONS.join(', '))
    .option('--all', 'all dead letters')
    .option('--set-flow-control-key <key>', 'flow control key of the new runs')
    .option('--set-flow-control <limits>', 'limits of the key: "parallelism=<n>, rate=<n>, period=<duration>"');
  withOverrides(command, OVERRIDES);
  return command.action(async (text: string) => {
    const action = ACTIONS.find((name) => name === text);
    if (!action) throw new UsageError(`<action> must be one of ${ACTIONS.join(', ')}; got "${text}"`);
    const { client, options } = await openClient<PlanOptions>(command, shell);
    const filter = filtersOf(REPAIR_FILTERS, command);
    if (!hasValues(filter) && !options.all) throw new UsageError('Give at least one filter, or --all.');
    const effectiveFilter = hasValues(filter) ? filter : { fromDate: 0 };
    const repair = await waitForPlan(
      client,
      await client.repairs.plan(action, { filter: effectiveFilter, overrides: overridesOf(command, options) }),
    );
    screen.write(options.json ? json(repair) : repairReport(screen, repair));
  });
}

interface StartOptions extends ClientOptions {
  readonly rate?: number;
  readonly canary?: number;
  readonly maxFailures?: number;
  readonly thenContinue?: boolean;
  readonly undo?: number;
  readonly watch?: boolean;
}

/** Prints the progress at most once a second, if it has changed, until the repair waits for a decision or has ended. */
async function watchRepair(client: Client, repairId: string, shell: Shell, options: ClientOptions): Promise<Repair> {
  let lastLine = '';
  for (;;) {
    const repair = await client.repairs.get(repairId);
    const line = progressLine(repair);
    if (line !== lastLine && !options.json) shell.screen.write(`${line}\n`);
    lastLine = line;
    const hasRunningEntries = repair.counts.started > 0 && (repair.state === 'stopped' || repair.state === 'aborted');
    if (RESTING_STATES.includes(repair.state) && !hasRunningEntries) return repair;
    await pause(WATCH_EVERY_MS);
  }
}

function exitCodeOf({ state, counts }: Repair): number {
  if (state === 'done') return counts.failed === 0 ? EXIT.ok : EXIT.refused;
  return state === 'stopped' || state === 'aborted' ? EXIT.refused : EXIT.pending;
}

function startCommand(shell: Shell, finish: (code: number) => void): Command {
  const { screen } = shell;
  const command = withConnection(new Command('start'))
    .description('Start a planned repair. It runs on the server; you can close the terminal.')
    .argument('<repairId>', 'id of the repair')
    .option('--rate <number>', 'dead letters per second; 0.1 is one every ten seconds', parseRate('--rate'))
    .option('--canary <number>', 'number of dead letters to try first', wholeNumber('--canary', 1))
    .option(
      '--max-failures <percent>',
      `with --canary: stop if more than this percentage of a group fails again (default: ${LIMITS.repairCanaryMaxFailurePercent})`,
      parsePercent,
    )
    .option('--then-continue', 'with --canary: continue automatically if the canary passes')
    .option('--undo <duration>', 'for a delete: time before anything is deleted (default: 10m)', durationMs('--undo'))
    .option('--watch', 'print the progress; exit code 1 if runs failed again, 5 if the repair waits for approval');
  return command.action(async (repairId: string) => {
    const { client, options } = await openClient<StartOptions>(command, shell);
    const { canary: count, maxFailures, thenContinue } = options;
    if (count === undefined && (maxFailures !== undefined || thenContinue))
      throw new UsageError('--max-failures and --then-continue require --canary.');
    const canary =
      count === undefined
        ? undefined
        : {
            count,
            ...(maxFailures === undefined ? {} : { maxFailurePercent: maxFailures }),
            thenContinue: thenContinue === true,
          };
    const startedRepair = await client.repairs.start(repairId, { ratePerSecond: options.rate, canary, undoMs: options.undo });
    const repair = options.watch ? await watchRepair(client, repairId, shell, options) : startedRepair;
    screen.write(options.json ? json(repair) : repairReport(screen, repair));
    if (options.watch) finish(exitCodeOf(repair));
  });
}

function watchCommand(shell: Shell, finish: (code: number) => void): Command {
  const { screen } = shell;
  const command = withConnection(new Command('watch'))
    .description(
      'Print the progress of a repair until it ends or waits for approval. Exit code 1 if runs failed again, 5 if it waits.',
    )
    .argument('<repairId>', 'id of the repair');
  return command.action(async (repairId: string) => {
    const { client, options } = await openClient(command, shell);
    const repair = await watchRepair(client, repairId, shell, options);
    screen.write(options.json ? json(repair) : repairReport(screen, repair));
    finish(exitCodeOf(repair));
  });
}

interface ShowOptions extends ClientOptions {
  readonly items?: boolean;
  readonly state?: readonly RepairItem['state'][];
}

function showCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('show'))
    .description('Show a repair: its plan and its progress.')
    .argument('<repairId>', 'id of the repair')
    .option('--items', 'include the result of each dead letter')
    .option('--state <state>', 'with --items: dead letters in this state; may be repeated', collectValue);
  return command.action(async (repairId: string) => {
    const { client, options } = await openClient<ShowOptions>(command, shell);
    const repair = await client.repairs.get(repairId);
    const items: RepairItem[] = [];
    if (options.items)
      for await (const item of client.repairs.allItems(repairId, { state: options.state, count: ITEMS_PER_PAGE }))
        items.push(item);
    if (options.json) return screen.write(json(options.items ? { ...repair, items } : repair));
    screen.write(repairReport(screen, repair));
    if (options.items) screen.write(`\n${repairItemTable(screen, items)}`);
  });
}

interface ListOptions extends ClientOptions {
  readonly count: number;
  readonly state?: readonly RepairState[];
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list'))
    .description('List repairs, newest first.')
    .option('--state <state>', 'repairs in this state; may be repeated', collectValue)
    .option('--count <number>', 'maximum number of repairs', wholeNumber('--count', 1), DEFAULT_COUNT);
  return command.action(async () => {
    const { client, options } = await openClient<ListOptions>(command, shell);
    const repairs: Repair[] = [];
    let cursor: string | undefined;
    do {
      const count = Math.min(options.count - repairs.length, MAX_PAGE_SIZE);
      const page = await client.repairs.list({ state: options.state, count, ...(cursor ? { cursor } : {}) });
      repairs.push(...page.repairs);
      cursor = page.cursor;
    } while (cursor && repairs.length < options.count);
    if (options.json) return screen.write(json({ repairs }));
    screen.write(repairs.length === 0 ? 'No matching repairs.\n' : repairTable(screen, repairs));
  });
}

function changeCommand<Options extends ClientOptions>(
  shell: Shell,
  name: string,
  description: string,
  act: (client: Client, repairId: string, options: Options) => Promise<Repair>,
): Command {
  const { screen } = shell;
  const command = withConnection(new Command(name)).description(description).argument('<repairId>', 'id of the repair');
  return command.action(async (repairId: string) => {
    const { client, options } = await openClient<Options>(command, shell);
    const repair = await act(client, repairId, options);
    screen.write(options.json ? json(repair) : `${progressLine(repair)}\n`);
  });
}

export function repairCommand(shell: Shell, finish: (code: number) => void): Command {
  const pauseHelp = 'Pause a repair. Runs it already started continue.';
  const continueHelp = 'Continue a repair that is paused or whose canary passed.';
  const abortHelp = 'Stop a repair permanently. In the undo window of a delete, this cancels the deletion.';
  return new Command('repair')
    .description('Repair many failed runs: resume, restart or delete them at a controlled rate.')
    .addCommand(planCommand(shell))
    .addCommand(startCommand(shell, finish))
    .addCommand(watchCommand(shell, finish))
    .addCommand(showCommand(shell))
    .addCommand(listCommand(shell))
    .addCommand(changeCommand(shell, 'pause', pauseHelp, (client, repairId) => client.repairs.pause(repairId)))
    .addCommand(
      changeCommand<ClientOptions & { readonly rate?: number }>(shell, 'continue', continueHelp, (client, repairId, options) =>
        client.repairs.continue(repairId, { ratePerSecond: options.rate }),
      ).option('--rate <number>', 'new rate in dead letters per second', parseRate('--rate')),
    )
    .addCommand(changeCommand(shell, 'abort', abortHelp, (client, repairId) => client.repairs.abort(repairId)));
}
