/** `everstep queues list|set|pause|resume|delete` */
import { Command } from 'commander';
import { wholeNumber } from '../../arguments.js';
import { instant, json, type Shell, table } from '../../output.js';
import { type ClientOptions, withConnection } from '../connection-options.js';
import { jsonCall, openMessages } from './message-connection.js';

/** Fields of a queue that are printed. */
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
    if (queues.length === 0) return screen.write('No queues.\n');
    const rows = queues.map(({ name, paused, lag, parallelism, updatedAt }) => [
      name,
      paused ? 'paused' : 'active',
      lag,
      parallelism,
      instant(updatedAt),
    ]);
    screen.write(table(screen, ['QUEUE', 'STATE', 'WAITING', 'PARALLELISM', 'CHANGED (UTC)'], rows));
  });
}

function setCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('set'))
    .description('Create a queue, or change its parallelism.')
    .argument('<name>', 'name of the queue')
    .requiredOption('--parallelism <number>', 'maximum number of messages in flight', wholeNumber('--parallelism', 1));
  return command.action(async (queueName: string) => {
    const { call, options } = await openMessages<ClientOptions & { readonly parallelism: number }>(command, shell);
    const { parallelism } = options;
    await call(jsonCall('POST', '/v2/queues', { queueName, parallelism }));
    screen.write(options.json ? json({ queueName, parallelism }) : `${queueName} has parallelism ${parallelism}\n`);
  });
}

interface QueueAction {
  readonly name: 'pause' | 'resume' | 'delete';
  readonly description: string;
  readonly outcome: string;
}

const QUEUE_ACTIONS: readonly QueueAction[] = [
  { name: 'pause', description: 'Pause a queue. Messages in flight continue.', outcome: 'paused' },
  { name: 'resume', description: 'Resume a paused queue. Its messages are sent in order.', outcome: 'resumed' },
  { name: 'delete', description: 'Delete a queue and its waiting messages.', outcome: 'deleted' },
];

function actionCommand(shell: Shell, { name, description, outcome }: QueueAction): Command {
  const { screen } = shell;
  const command = withConnection(new Command(name)).description(description).argument('<name>', 'name of the queue');
  return command.action(async (queueName: string) => {
    const { call, options } = await openMessages(command, shell);
    const path = pathOf(queueName);
    await call(name === 'delete' ? { method: 'DELETE', path } : { method: 'POST', path: `${path}/${name}` });
    screen.write(options.json ? json({ queueName }) : `${queueName} ${outcome}\n`);
  });
}

export function queuesCommand(shell: Shell): Command {
  const command = new Command('queues')
    .description('Manage queues of plain messages.')
    .addCommand(listCommand(shell))
    .addCommand(setCommand(shell));
  for (const action of QUEUE_ACTIONS) command.addCommand(actionCommand(shell, action));
  return command;
}
