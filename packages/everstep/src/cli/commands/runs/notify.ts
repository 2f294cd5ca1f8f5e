/** `everstep notify <event>` and `everstep waiters [event]` */
import type { Client, EventWaiter } from '@everstep/sdk';
import { Command } from 'commander';
import { isJson, readBody, readBodyFile } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { instant, json, type Screen, type Shell, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';

const PAGE_SIZE = 1_000;

interface NotifyOptions extends ClientOptions {
  readonly data?: string;
  readonly dataFile?: string;
  readonly contentType?: string;
  readonly run?: string;
}

const RUN_HEADER = 'svc-workflow-runid';

/** Returns the run of a waiter, from the headers that would be sent to it. */
function runOf(headers: Readonly<Record<string, readonly string[]>>): string | undefined {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === RUN_HEADER)?.[1][0];
}

/** Formats Unix seconds; 0 means that the run does not wait yet. */
const deadlineText = (deadline: number): string => (deadline === 0 ? 'stored until the run waits' : instant(deadline * 1000));

async function eventData({ data, dataFile }: NotifyOptions): Promise<string | Uint8Array | undefined> {
  if (data !== undefined && dataFile !== undefined) throw new UsageError('Give either --data or --data-file, not both.');
  if (dataFile !== undefined) return readBodyFile(dataFile);
  return data === undefined ? undefined : readBody(data);
}

export function notifyCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('notify'))
    .summary('Notify runs that wait for an event')
    .description(
      'Notify every run that waits for an event. With --run, notify one run, even if it does not wait for the event yet.',
    )
    .argument('<event>', 'id of the event')
    .option('-d, --data <text>', 'event data: text, @file, or - for standard input')
    .option('--data-file <path>', 'file with the event data')
    .option(
      '--content-type <type>',
      'content type of the data (default: application/json if it is valid JSON, otherwise text/plain)',
    )
    .option('--run <id>', 'notify only this run; the event is stored until the run waits for it');
  return command.action(async (eventId: string) => {
    const { client, options } = await openClient<NotifyOptions>(command, shell);
    const data = await eventData(options);
    const contentType = options.contentType ?? (data !== undefined && isJson(data) ? 'application/json' : 'text/plain');
    const results = await client.notify({
      eventId,
      ...(data === undefined ? {} : { eventData: data, contentType }),
      ...(options.run === undefined ? {} : { workflowRunId: options.run }),
    });
    if (options.json) return screen.write(json(results));
    if (results.length === 0) return screen.write(`No runs are waiting for ${eventId}.\n`);
    const rows = results.map(({ waiter, messageId, kept }) => [
      runOf(waiter.headers),
      waiter.url,
      messageId,
      kept ? 'stored until the run waits' : 'notified',
    ]);
    screen.write(table(screen, ['RUN', 'WORKFLOW', 'MESSAGE', 'EVENT'], rows));
  });
}

interface WaiterOptions extends ClientOptions {
  readonly workflowUrl?: string;
}

async function showAllWaiters(screen: Screen, client: Client, { workflowUrl, json: printsJson }: WaiterOptions): Promise<void> {
  const waiters: EventWaiter[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.allWaiters({ workflowUrl, count: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) });
    waiters.push(...page.waiters);
    ({ cursor } = page);
  } while (cursor !== undefined);
  if (printsJson) return screen.write(json({ waiters }));
  if (waiters.length === 0) return screen.write('No runs are waiting for an event.\n');
  const rows = waiters.map(({ eventId, workflowRunId, stepName, since, deadlineAt, url }) => [
    eventId,
    workflowRunId,
    stepName,
    instant(since),
    instant(deadlineAt),
    url,
  ]);
  screen.write(table(screen, ['EVENT', 'RUN', 'STEP', 'SINCE (UTC)', 'UNTIL (UTC)', 'WORKFLOW'], rows));
}

export function waitersCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('waiters'))
    .summary('List runs that wait for an event')
    .description('List the runs that wait for an event, oldest first. Without an event, list all waiting runs by event.')
    .argument('[event]', 'id of the event')
    .option('--workflow-url <url>', 'runs of this workflow (only without an event)');
  return command.action(async (eventId: string | undefined) => {
    const { client, options } = await openClient<WaiterOptions>(command, shell);
    if (eventId === undefined) return showAllWaiters(screen, client, options);
    if (options.workflowUrl !== undefined) throw new UsageError('--workflow-url cannot be combined with an event.');
    const waiters = await client.waiters(eventId);
    if (options.json) return screen.write(json(waiters));
    if (waiters.length === 0) return screen.write(`No runs are waiting for ${eventId}.\n`);
    const rows = waiters.map(({ url, headers, deadline }) => [runOf(headers), url, deadlineText(deadline)]);
    screen.write(table(screen, ['RUN', 'WORKFLOW', 'UNTIL (UTC)'], rows));
  });
}
