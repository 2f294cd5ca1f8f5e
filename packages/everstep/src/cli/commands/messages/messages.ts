/** `everstep messages list|get|send|cancel` */
import { Command } from 'commander';
import { MESSAGE_FILTERS } from '../../../contract/filters/message-filters.js';
import { isJson, readBody, wholeNumber } from '../../arguments.js';
import { instant, json, printable, type Shell, shorten, table } from '../../output.js';
import { type ClientOptions, withConnection } from '../connection-options.js';
import { filtersOf, withFilters } from '../filter-options.js';
import { openMessages } from './message-connection.js';

/** Fields of a message event that are printed. */
interface MessageEvent {
  readonly time: number;
  readonly state: string;
  readonly messageId: string;
  readonly url: string;
  readonly queueName?: string;
  readonly topicName?: string;
  readonly error?: string;
}

interface ListOptions extends ClientOptions {
  readonly state?: string;
  readonly count?: number;
  readonly cursor?: string;
  readonly oldestFirst?: boolean;
}

const MAX_ERROR_LENGTH = 60;
const HEAD = ['SINCE (UTC)', 'STATE', 'MESSAGE', 'TO', 'VIA', 'ERROR'] as const;

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withFilters(withConnection(new Command('list')), MESSAGE_FILTERS, 'messages')
    .description('List events of plain messages, newest first.')
    .option('--oldest-first', 'list the events of the oldest messages first')
    .option('--state <state>', 'state: CREATED, ACTIVE, RETRY, ERROR, DELIVERED, FAILED or CANCELED')
    .option('--count <number>', 'maximum number of events', wholeNumber('--count', 1))
    .option('--cursor <cursor>', 'cursor printed by the previous page');
  return command.action(async () => {
    const { call, options } = await openMessages<ListOptions>(command, shell);
    const { state, count, cursor } = options;
    const order = options.oldestFirst ? 'oldest-first' : undefined;
    const page = await call<{ readonly cursor?: string; readonly logs: readonly MessageEvent[] }>({
      method: 'GET',
      path: '/v2/logs',
      query: { ...filtersOf(MESSAGE_FILTERS, command), order, state, count, cursor },
    });
    if (options.json) return screen.write(json(page));
    const nextPage = page.cursor ? `\nNext page: --cursor ${page.cursor}\n` : '';
    if (page.logs.length === 0)
      return screen.write(`No matching message events${page.cursor ? ' on this page' : ''}.\n${nextPage}`);
    const rows = page.logs.map((event) => [
      instant(event.time),
      event.state,
      event.messageId,
      event.url,
      event.queueName === undefined ? event.topicName : `queue ${event.queueName}`,
      event.error === undefined ? undefined : shorten(event.error, MAX_ERROR_LENGTH),
    ]);
    screen.write(table(screen, HEAD, rows));
    screen.write(nextPage);
  });
}

function getCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('get'))
    .description('Print a pending message as JSON.')
    .argument('<messageId>', 'id of the message');
  return command.action(async (messageId: string) => {
    const { call } = await openMessages(command, shell);
    screen.write(json(await call({ method: 'GET', path: `/v2/messages/${encodeURIComponent(messageId)}` })));
  });
}

interface SendOptions extends ClientOptions {
  readonly body?: string;
  readonly queue?: string;
  readonly method?: string;
  readonly retries?: number;
  readonly delay?: string;
}

function sendCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('send'))
    .description('Send a plain message, directly or through a queue.')
    .argument('<destination>', 'URL or name of a URL group')
    .option('--body <text>', 'body: text, @file, or - for standard input')
    .option('--queue <name>', 'send the message through this queue')
    .option('--method <method>', 'HTTP method (default: POST)')
    .option('--retries <number>', 'maximum number of retries', wholeNumber('--retries', 0))
    .option('--delay <duration>', 'delay before the first attempt, such as 30s, 5m or 2h');
  return command.action(async (destination: string) => {
    const { call, options } = await openMessages<SendOptions>(command, shell);
    const body = options.body === undefined ? '' : await readBody(options.body);
    const path = options.queue === undefined ? '/v2/publish' : `/v2/enqueue/${encodeURIComponent(options.queue)}`;
    const { method, retries, delay } = options;
    const response = await call<unknown>({
      method: 'POST',
      // The destination is not encoded in the path: a URL keeps its slashes.
      path: `${path}/${destination}`,
      headers: {
        'content-type': isJson(body) ? 'application/json' : 'text/plain',
        ...(method === undefined ? {} : { 'upstash-method': method }),
        ...(retries === undefined ? {} : { 'upstash-retries': String(retries) }),
        ...(delay === undefined ? {} : { 'upstash-delay': delay }),
      },
      body,
    });
    if (options.json) return screen.write(json(response));
    for (const { messageId, url } of (Array.isArray(response) ? response : [response]) as readonly SentMessage[])
      screen.write(`${messageId} to ${printable(url ?? destination)}\n`);
  });
}

interface SentMessage {
  readonly messageId: string;
  /** The endpoint that a message to a URL group is sent to. */
  readonly url?: string;
}

function cancelCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('cancel'))
    .description('Cancel a message that is not yet delivered.')
    .argument('<messageId>', 'id of the message');
  return command.action(async (messageId: string) => {
    const { call, options } = await openMessages(command, shell);
    await call({ method: 'DELETE', path: `/v2/messages/${encodeURIComponent(messageId)}` });
    screen.write(options.json ? json({ messageId }) : `${messageId} canceled\n`);
  });
}

export function messagesCommand(shell: Shell): Command {
  return new Command('messages')
    .description('Send, list and cancel plain messages.')
    .addCommand(listCommand(shell))
    .addCommand(getCommand(shell))
    .addCommand(sendCommand(shell))
    .addCommand(cancelCommand(shell));
}
