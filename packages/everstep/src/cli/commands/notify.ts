/** `everstep notify <event>` */
import { Command } from 'commander';
import { readBody } from '../arguments.js';
import { json, type Shell, table } from '../output.js';
import { type ClientOptions, open, withConnection } from './connection-options.js';

interface NotifyOptions extends ClientOptions {
  readonly data?: string;
}

export function notifyCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('notify'))
    .summary('Notify the runs that wait for an event')
    .description('Notify every run that waits for an event.')
    .argument('<event>', 'id of the event')
    .option('-d, --data <text>', 'event data: text, @file, or - for standard input')
    .action(async (eventId: string) => {
      const { client, options } = await open<NotifyOptions>(command, shell);
      const data = options.data === undefined ? undefined : await readBody(options.data);
      const notified = await client.notify(eventId, data);
      if (options.json) return screen.write(json(notified));
      if (notified.length === 0) return screen.write(`No run waits for ${eventId}.\n`);
      const rows = notified.map(({ waiter, messageId }) => [waiter.url, messageId]);
      screen.write(table(screen, ['WORKFLOW', 'MESSAGE'], rows));
    });
  return command;
}
