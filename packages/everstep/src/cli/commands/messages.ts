/** `everstep messages list|get|send|cancel` */
import { Command } from 'commander';
import { collected, isJson, moment, readBody, wholeNumber } from '../arguments.js';
import { openMessages } from '../message-connection.js';
import { instant, json, type Shell, shorten, table } from '../output.js';
import { type ClientOptions, withConnection } from './connection-options.js';

/** As far as it is printed. */
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
  readonly queue?: string;
  readonly group?: string;
  readonly to?: string;
  readonly label?: readonly string[];
  readonly id?: readonly string[];
  readonly since?: number;
  readonly until?: number;
  readonly count?: number;
  readonly cursor?: string;
}

const MAX_ERROR_LENGTH = 60;
const HEAD = ['SINCE (UTC)', 'STATE', 'MESSAGE', 'TO', 'THROUGH', 'ERROR'] as const;

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list'))
    .description('List what happened to plain messages, newest first.')
    .option('--state <state>', 'CREATED, ACTIVE, RETRY, ERROR, DELIVERED, FAILED or CANCELED')
    .option('--queue <name>', 'of one queue')
    .option('--group <name>', 'of one URL group')
    .option('--to <destination>', 'to one URL')
    .option('--label <label>', 'with a label; may be repeated', collected)
    .option('--id <messageId>', 'of a message; may be repeated', collected)
    .option('--since <instant>', 'at or after a time: Unix ms or a date', moment('--since'))
    .option('--until <instant>', 'at or before a time', moment('--until'))
    .option('--count <number>', 'how many', wholeNumber('--count', 1))
    .option('--cursor <cursor>', 'goes on where the list before ended');
  return command.action(async () => {
    const { call, options } = await openMessages<ListOptions>(command, shell);
    const { state, queue, group, to, label, id, since, until, count, cursor } = options;
    const page = await call<{ readonly cursor?: string; readonly logs: readonly MessageEvent[] }>({
      method: 'GET',
      path: '/v2/logs',
      query: {
        state,
        queueName: queue,
        topicName: group,
        url: to === undefined ? undefined : [to],
        label,
        messageIds: id,
        fromDate: since,
        toDate: until,
        count,
        cursor,
      },
    });
    if (options.json) return screen.write(json(page));
    if (page.logs.length === 0) return screen.write('Nothing happened to such messages.\n');
    const rows = page.logs.map((event) => [
      instant(event.time),
      event.state,
      event.messageId,
      event.url,
      event.queueName === undefined ? event.topicName : `queue ${event.queueName}`,
      event.error === undefined ? undefined : shorten(event.error, MAX_ERROR_LENGTH),
    ]);
    screen.write(table(screen, HEAD, rows));
    if (page.cursor) screen.write(`\nMore: --cursor ${page.cursor}\n`);
  });
}

function getCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('get'))
    .description('Print a message that is under way, as JSON.')
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
    .description('Send a plain message: now, or behind those of a queue.')
    .argument('<destination>', 'URL, or name of a URL group')
    .option('--body <text>', 'text, @file, or - for the standard input')
    .option('--queue <name>', 'it stands in line in this queue')
    .option('--method <method>', 'of the request, POST when absent')
    .option('--retries <number>', 'further attempts', wholeNumber('--retries', 0))
    .option('--delay <duration>', 'it is sent after so long: 30s, 5m, 2h');
  return command.action(async (destination: string) => {
    const { call, options } = await openMessages<SendOptions>(command, shell);
    const body = options.body === undefined ? '' : await readBody(options.body);
    const path = options.queue === undefined ? '/v2/publish' : `/v2/enqueue/${encodeURIComponent(options.queue)}`;
    const { method, retries, delay } = options;
    const sent = await call<unknown>({
      method: 'POST',
      // The destination stands in the path as it is: a URL keeps its slashes.
      path: `${path}/${destination}`,
      headers: {
        'content-type': isJson(body) ? 'application/json' : 'text/plain',
        ...(method === undefined ? {} : { 'upstash-method': method }),
        ...(retries === undefined ? {} : { 'upstash-retries': String(retries) }),
        ...(delay === undefined ? {} : { 'upstash-delay': delay }),
      },
      body,
    });
    if (options.json) return screen.write(json(sent));
    for (const { messageId, url } of (Array.isArray(sent) ? sent : [sent]) as readonly Sent[])
      screen.write(`${messageId} to ${url ?? destination}\n`);
  });
}

interface Sent {
  readonly messageId: string;
  /** Of a URL group: the endpoint that it goes to. */
  readonly url?: string;
}

function cancelCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('cancel'))
    .description('Cancel a message that was not delivered.')
    .argument('<messageId>', 'id of the message');
  return command.action(async (messageId: string) => {
    const { call, options } = await openMessages(command, shell);
    await call({ method: 'DELETE', path: `/v2/messages/${encodeURIComponent(messageId)}` });
    screen.write(options.json ? json({ messageId }) : `${messageId} is canceled\n`);
  });
}

export function messagesCommand(shell: Shell): Command {
  return new Command('messages')
    .description('Plain messages: list, get, send, cancel.')
    .addCommand(listCommand(shell))
    .addCommand(getCommand(shell))
    .addCommand(sendCommand(shell))
    .addCommand(cancelCommand(shell));
}
