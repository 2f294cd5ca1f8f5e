/** `everstep keys get|rotate` */
import type { SigningKeyPair } from '@everstep/sdk';
import { Command } from 'commander';
import { json, type Screen, type Shell } from '../output.js';
import { open, withConnection } from './connection-options.js';

/** As an app's environment has them. */
function show(screen: Screen, { current, next }: SigningKeyPair): void {
  screen.write(`EVERSTEP_CURRENT_SIGNING_KEY=${current}\nEVERSTEP_NEXT_SIGNING_KEY=${next}\n`);
}

function keyCommand(shell: Shell, name: 'get' | 'rotate', description: string): Command {
  const { screen } = shell;
  const command = withConnection(new Command(name)).description(description);
  return command.action(async () => {
    const { client, options } = await open(command, shell);
    const keys = await client.keys[name]();
    if (options.json) screen.write(json(keys));
    else show(screen, keys);
  });
}

export function keysCommand(shell: Shell): Command {
  const rotate = 'Make the next key the current one, and a new one the next. Apps that know both go on accepting.';
  return new Command('keys')
    .description('The keys that deliveries are signed with: get, rotate.')
    .addCommand(keyCommand(shell, 'get', 'Print the keys, as lines for the environment of an app.'))
    .addCommand(keyCommand(shell, 'rotate', rotate));
}
