/** `everstep admin instances outbound|narrow-outbound|allow-outbound` */
import type { InstanceOutboundRules } from '@everstep/sdk';
import { Command } from 'commander';
import { collectValue } from '../../arguments.js';
import { json, printable, type Screen, type Shell, styled } from '../../output.js';
import { type AdminOptions, openAdmin, withAdminConnection } from './admin-connection.js';

const listText = (entries: readonly string[]): string => (entries.length === 0 ? '-' : entries.map(printable).join(', '));

function showRules(screen: Screen, { allow, deny, only }: InstanceOutboundRules): void {
  const rows = [
    ['allowed', listText(allow)],
    ['denied', listText(deny)],
    ['only', only === null ? 'no limit' : listText(only)],
  ] as const;
  for (const [name, value] of rows) screen.write(`${styled(screen, 'dim', name.padEnd(9))}${value}\n`);
}

const instanceCommand = (name: string, description: string): Command =>
  withAdminConnection(new Command(name)).description(description).argument('<instanceId>', 'id of the queue instance');

function showCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = instanceCommand(
    'outbound',
    'Show the outbound rules of a queue instance. The rules of the installation also apply.',
  );
  return command.action(async (instanceId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const rules = await admin.instances.outboundRules(instanceId);
    if (options.json) screen.write(json(rules));
    else showRules(screen, rules);
  });
}

interface NarrowOptions extends AdminOptions {
  readonly deny?: readonly string[];
  readonly only?: readonly string[];
}

function narrowCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = instanceCommand(
    'narrow-outbound',
    'Restrict the destinations of a queue instance. Without options, remove all restrictions.',
  )
    .option('--deny <destination>', 'denied destination, such as *.example.com or 10.0.0.0/8; may be repeated', collectValue)
    .option('--only <destination>', 'allowed destination; all others are denied; may be repeated', collectValue);
  return command.action(async (instanceId: string) => {
    const { admin, options } = await openAdmin<NarrowOptions>(command, shell);
    const { deny = [], only = null } = options;
    await admin.instances.setOutboundRules(instanceId, { deny, only });
    screen.write(options.json ? json({ changed: 1 }) : 'outbound rules updated\n');
  });
}

function allowCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = instanceCommand(
    'allow-outbound',
    'Set the private destinations that a queue instance may call (operators only).',
  ).argument('[destination...]', 'destinations, such as app.internal:8080 or 10.0.0.5:8080 (default: none)');
  return command.action(async (instanceId: string, allow: readonly string[]) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.instances.setAllowedDestinations(instanceId, allow);
    screen.write(options.json ? json({ changed: 1 }) : 'allowed destinations updated\n');
  });
}

export const outboundCommands = (shell: Shell): readonly Command[] => [
  showCommand(shell),
  narrowCommand(shell),
  allowCommand(shell),
];
