/** `everstep flow list|get|waiting|pause|resume|pin|unpin|reset-rate|global` */
import type { Client, FlowControlEntry } from '@everstep/sdk';
import { Command } from 'commander';
import { wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { duration, instant, json, printable, type Screen, type Shell, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';

const HEAD = ['KEY', 'WAITING', 'IN FLIGHT', 'RATE', 'WINDOW SINCE (UTC)', 'STATE'] as const;

/** Formats a count as `3 of 5`, or as `3` if there is no limit. */
const countWithLimit = (count: number, max: number | undefined): string =>
  max === undefined ? String(count) : `${count} of ${max}`;

function rateText({ rateCount, rateMax, ratePeriod }: FlowControlEntry): string | undefined {
  if (rateMax === undefined) return undefined;
  return `${rateCount ?? 0} of ${rateMax} in ${duration((ratePeriod ?? 0) * 1000)}`;
}

function stateText({ isPaused, isPinnedParallelism, isPinnedRate }: FlowControlEntry): string | undefined {
  const states = [
    ...(isPaused ? ['paused'] : []),
    ...(isPinnedParallelism ? ['parallelism pinned'] : []),
    ...(isPinnedRate ? ['rate pinned'] : []),
  ];
  return states.length === 0 ? undefined : states.join(', ');
}

const rowOf = (entry: FlowControlEntry) => [
  entry.flowControlKey,
  entry.waitListSize,
  countWithLimit(entry.parallelismCount, entry.parallelismMax),
  rateText(entry),
  instant(entry.ratePeriodStart === undefined ? undefined : entry.ratePeriodStart * 1000),
  stateText(entry),
];

const showEntries = (screen: Screen, entries: readonly FlowControlEntry[]): void =>
  screen.write(table(screen, HEAD, entries.map(rowOf)));

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list')).description('List flow control keys with their limits and current usage.');
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const flowControls = await client.flowControl.list();
    if (options.json) return screen.write(json({ flowControls }));
    if (flowControls.length === 0) return screen.write('No flow control keys.\n');
    showEntries(screen, flowControls);
  });
}

/** Returns a command that takes a key, applies `act` to it and prints the resulting state. */
function keyCommand<Options extends ClientOptions>(
  shell: Shell,
  name: string,
  description: string,
  act: (client: Client, key: string, options: Options) => Promise<FlowControlEntry>,
): Command {
  const { screen } = shell;
  const command = withConnection(new Command(name)).description(description).argument('<key>', 'the flow control key');
  return command.action(async (key: string) => {
    const { client, options } = await openClient<Options>(command, shell);
    const entry = await act(client, key, options);
    if (options.json) screen.write(json(entry));
    else showEntries(screen, [entry]);
  });
}

interface WaitingOptions extends ClientOptions {
  readonly count?: number;
}

function waitingCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('waiting'))
    .description('List the deliveries waiting for a key, in order.')
    .argument('<key>', 'the flow control key')
    .option('--count <number>', 'maximum number, up to 100 (default: 50)', wholeNumber('--count', 1));
  return command.action(async (key: string) => {
    const { client, options } = await openClient<WaitingOptions>(command, shell);
    const waitList = await client.flowControl.waiting(key, { count: options.count });
    if (options.json) return screen.write(json(waitList));
    if (waitList.waiting.length === 0) return screen.write(`No deliveries are waiting for ${printable(key)}.\n`);
    const rows = waitList.waiting.map(({ place, workflowRunId, stepName, since, workflowUrl }) => [
      place,
      workflowRunId,
      stepName,
      instant(since),
      workflowUrl,
    ]);
    screen.write(table(screen, ['POSITION', 'RUN', 'STEP', 'SINCE (UTC)', 'WORKFLOW'], rows));
    if (waitList.waitListSize > rows.length) screen.write(`${waitList.waitListSize} waiting in total.\n`);
  });
}

interface PinOptions extends ClientOptions {
  readonly parallelism?: number;
  readonly rate?: number;
  readonly period?: string;
}

function pinCommand(shell: Shell): Command {
  const description = 'Pin limits of a key, so that triggers cannot change them. Omitted limits do not change.';
  return keyCommand<PinOptions>(shell, 'pin', description, (client, key, { parallelism, rate, period }) => {
    if (period !== undefined && rate === undefined) throw new UsageError('--period requires --rate.');
    return client.flowControl.pin(key, { parallelism, rate, period });
  })
    .option('--parallelism <number>', 'maximum number of deliveries in flight', wholeNumber('--parallelism', 1))
    .option('--rate <number>', 'maximum number of deliveries started in a period', wholeNumber('--rate', 1))
    .option('--period <duration>', 'period of the rate, such as 30s, 1m or 1d (default: 1s)');
}

interface UnpinOptions extends ClientOptions {
  readonly parallelism?: true;
  readonly rate?: true;
}

function unpinCommand(shell: Shell): Command {
  const description = 'Unpin limits of a key, so that triggers can change them again (default: both).';
  return keyCommand<UnpinOptions>(shell, 'unpin', description, (client, key, { parallelism, rate }) =>
    client.flowControl.unpin(key, { parallelism, rate }),
  )
    .option('--parallelism', 'unpin the parallelism')
    .option('--rate', 'unpin the rate and its period');
}

function globalCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('global')).description('Show the number of deliveries in flight across all keys.');
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const parallelism = await client.flowControl.globalParallelism();
    if (options.json) return screen.write(json(parallelism));
    screen.write(`${countWithLimit(parallelism.parallelismCount, parallelism.parallelismMax)} deliveries in flight\n`);
  });
}

export function flowCommand(shell: Shell): Command {
  return new Command('flow')
    .description('Manage flow control keys: limits, pauses and waiting deliveries.')
    .addCommand(listCommand(shell))
    .addCommand(keyCommand(shell, 'get', 'Show the limits and usage of a key.', (client, key) => client.flowControl.get(key)))
    .addCommand(waitingCommand(shell))
    .addCommand(
      keyCommand(shell, 'pause', 'Pause deliveries of a key until it is resumed.', (client, key) =>
        client.flowControl.pause(key),
      ),
    )
    .addCommand(
      keyCommand(shell, 'resume', 'Resume deliveries of a paused key.', (client, key) => client.flowControl.resume(key)),
    )
    .addCommand(pinCommand(shell))
    .addCommand(unpinCommand(shell))
    .addCommand(
      keyCommand(
        shell,
        'reset-rate',
        'End the current rate window of a key. The next delivery starts a new one.',
        (client, key) => client.flowControl.resetRate(key),
      ),
    )
    .addCommand(globalCommand(shell));
}
