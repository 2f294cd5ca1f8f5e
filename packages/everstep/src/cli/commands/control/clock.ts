/** `everstep clock now|advance`, for a server with a virtual clock. */
import { connectTestService } from '@everstep/sdk/testing';
import { Command } from 'commander';
import { findServer } from '../../connection.js';
import { UsageError } from '../../exit-codes.js';
import { countText, instant, json, type Shell } from '../../output.js';
import { type ClientOptions, withConnection } from '../connection-options.js';

const openClock = async (command: Command, shell: Shell) => {
  const options = command.opts<ClientOptions>();
  return { clock: connectTestService(await findServer(options, shell)), options };
};

function nowCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('now')).description('Print the current time of the server.');
  return command.action(async () => {
    const { clock, options } = await openClock(command, shell);
    const now = await clock.now();
    screen.write(options.json ? json({ now }) : `${instant(now)}\n`);
  });
}

function advanceCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('advance'))
    .description('Advance the clock. Work that becomes due runs in order; the command waits until all of it is done.')
    .argument('<by>', 'duration, such as 30s, 12h or 7d');
  return command.action(async (by: string) => {
    if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(by)) {
      throw new UsageError(`<by> must be a duration such as 30s, 12h or 7d; got "${by}"`);
    }
    const { clock, options } = await openClock(command, shell);
    const result = await clock.advance(by);
    if (options.json) return screen.write(json(result));
    screen.write(`${instant(result.now)}; ${countText(result.fired, 'timer')} fired\n`);
  });
}

export function clockCommand(shell: Shell): Command {
  return new Command('clock')
    .description('Read or advance the virtual clock of a server started with dev --virtual-clock.')
    .addCommand(nowCommand(shell))
    .addCommand(advanceCommand(shell));
}
