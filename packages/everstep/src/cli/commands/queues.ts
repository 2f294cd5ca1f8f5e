/** `everstep queues list|set|pause|resume|delete` */
import { Command } from 'commander';
import { wholeNumber } from '../arguments.js';
import { openMessages, sendingJson } from '../message-connection.js';
import { instant, json, type Shell, table } from '../output.js';
import { type ClientOptions, withConnection } from './connection-options.js';

/** As far as it is printed. */
interface QueueRow {
  readonly name: string;
  readonly updatedAt: number;
  readonly parallelism: number;
  readonly paused: boolean;
  readonly lag: number;
}

const pathOf = (name: string): string => `/v2/queues/${encodeURIComponent(name)}`;

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list')).description('List the queues of plain messages.');
  return command.action(async () => {
    const { call, options } = await openMessages(command, shell);
    const queues = await call<readonly QueueRow[]>({ method: 'GET', path: '/v2/queues' });
    if (options.json) return screen.write(json(queues));
    if (queues.length === 0) return screen.write('There is no queue.\n');
    const rows = queues.map(({ name, paused, lag, parallelism, updatedAt }) => [
      name,
      paused ? 'paused' : 'sends',
      lag,
      parallelism,
      instant(updatedAt),
    ]);
    screen.write(table(screen, ['QUEUE', 'STATE', 'WAITING', 'AT A TIME', 'CHANGED (UTC)'], rows));
  });
}

function setCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('set'))
    .description('Make a queue, or change how many of its messages are sent at a time.')
    .argument('<name>', 'name of the queue')
    .requiredOption('--parallelism <number>', 'messages that are sent at a time', wholeNumber('--parallelism', 1));
  return command.action(async (queueName: string) => {
    const { call, options } = await openMessages<ClientOptions & { readonly parallelism: number }>(command, shell);
    const { parallelism } = options;
    await call(sendingJson('POST', '/v2/queues', { queueName, parallelism }));
    screen.write(options.json ? json({ queueName, parallelism }) : `${queueName} sends ${parallelism} at a time\n`);
  });
}

interface Deed {
  readonly name: 'pause' | 'resume' | 'delete';
  readonly description: string;
  readonly done: string;
}

const DEEDS: readonly Deed[] = [
  { name: 'pause', description: 'Send nothing more of a queue; what is in flight goes on.', done: 'is paused' },
  { name: 'resume', description: 'Send again what waits in a queue, in its order.', done: 'sends again' },
  { name: 'delete', description: 'Delete a queue with the messages that wait in it.', done: 'is deleted' },
];

function deedCommand(shell: Shell, { name, description, done }: Deed): Command {
  const { screen } = shell;
  const command = withConnection(new Command(name)).description(description).argument('<name>', 'name of the queue');
  return command.action(async (queueName: string) => {
    const { call, options } = await openMessages(command, shell);
    const path = pathOf(queueName);
    await call(name === 'delete' ? { method: 'DELETE', path } : { method: 'POST', path: `${path}/${name}` });
    screen.write(options.json ? json({ queueName }) : `${queueName} ${done}\n`);
  });
}

export function queuesCommand(shell: Shell): Command {
  const command = new Command('queues')
    .description('Queues of plain messages: list, set, pause, resume, delete.')
    .addCommand(listCommand(shell))
    .addCommand(setCommand(shell));
  for (const deed of DEEDS) command.addCommand(deedCommand(shell, deed));
  return command;
}
