/** `everstep admin log-level get|set` */
import { Command } from 'commander';
import { LOG_LEVELS } from '../../../config/log-levels.js';
import { UsageError } from '../../exit-codes.js';
import { json, type Shell } from '../../output.js';
import { openAdmin, withAdminConnection } from './admin-connection.js';

const lineOf = ({
  level,
  configured_level: configured,
}: {
  readonly level: string;
  readonly configured_level: string;
}): string => (level === configured ? `${level}\n` : `${level} (${configured} after a restart)\n`);

function getCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('get')).description('Show the log level of the server (operators only).');
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const logLevel = await admin.logLevel();
    screen.write(options.json ? json(logLevel) : lineOf(logLevel));
  });
}

function setCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('set'))
    .description('Change the log level of the server that handles the request, until it restarts (operators only).')
    .argument('<level>', LOG_LEVELS.join(', '));
  return command.action(async (text: string) => {
    const level = LOG_LEVELS.find((name) => name === text);
    if (level === undefined) throw new UsageError(`The level must be one of ${LOG_LEVELS.join(', ')}; got "${text}".`);
    const { admin, options } = await openAdmin(command, shell);
    const logLevel = await admin.setLogLevel(level);
    screen.write(options.json ? json(logLevel) : lineOf(logLevel));
  });
}

export function logLevelCommand(shell: Shell): Command {
  return new Command('log-level')
    .description('Show or change the log level of a running server. Every node has its own.')
    .addCommand(getCommand(shell))
    .addCommand(setCommand(shell));
}
