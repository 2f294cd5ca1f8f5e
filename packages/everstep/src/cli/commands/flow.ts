/** `everstep flow list` */
import { Command } from 'commander';
import { json, type Shell, table } from '../output.js';
import { open, withConnection } from './connection-options.js';

export function flowCommand(shell: Shell): Command {
  const { screen } = shell;
  const list = withConnection(new Command('list'))
    .description('List flow control keys with the number of messages that wait for each.')
    .action(async () => {
      const { client, options } = await open(list, shell);
      const flowControls = await client.flowControl.list();
      if (options.json) return screen.write(json({ flowControls }));
      if (flowControls.length === 0) return screen.write('No flow control key has been used.\n');
      const rows = flowControls.map(({ flowControlKey, waitListSize }) => [flowControlKey, waitListSize]);
      screen.write(table(screen, ['KEY', 'WAITING'], rows));
    });
  return new Command('flow').description('Flow control keys.').addCommand(list);
}
