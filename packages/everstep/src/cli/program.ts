/** The command line of Everstep: its commands and error handling. */
import { Command, CommanderError } from 'commander';
import { readSecretFiles } from '../config/secret-files.js';
import { SERVICE_VERSION } from '../step-calls/version.js';
import { adminCommand } from './commands/admin/admin.js';
import { auditLogCommand } from './commands/audit.js';
import { backupCommand, restoreCommand, verifyBackupCommand, verifyCommand } from './commands/backup.js';
import { clockCommand } from './commands/clock.js';
import { copyStoreCommand } from './commands/copy-store.js';
import { deadLetterCommand } from './commands/dead-letters.js';
import { destinationsCommand } from './commands/destinations.js';
import { envCommand } from './commands/env.js';
import { flowCommand } from './commands/flow.js';
import { keysCommand } from './commands/keys.js';
import { liveCommand, nodesCommand } from './commands/live.js';
import { messagesCommand } from './commands/messages.js';
import { notifyCommand, waitersCommand } from './commands/notify.js';
import { queuesCommand } from './commands/queues.js';
import { repairCommand } from './commands/repairs.js';
import { rotateSecretsCommand } from './commands/rotate-secrets.js';
import { runsCommand } from './commands/runs.js';
import { schedulesCommand } from './commands/schedules.js';
import { searchCommand } from './commands/search.js';
import { serviceCommand } from './commands/service.js';
import { settingsCommand } from './commands/settings.js';
import { triggerCommand } from './commands/trigger.js';
import { urlGroupsCommand } from './commands/url-groups.js';
import { describeFailure, EXIT, EXIT_CODES_HELP, UsageError } from './exit-codes.js';
import { type Shell, terminal } from './output.js';

const CONNECTION_HELP = `
Client commands connect to the server given by --url and --token. The defaults are EVERSTEP_URL and EVERSTEP_TOKEN, then
the credentials in the local data directory (EVERSTEP_DATA_DIR, by default ./.everstep). Other users can see flags in the
process list: pass secrets in environment variables or files (EVERSTEP_TOKEN_FILE, EVERSTEP_ADMIN_API_KEY_FILE).`;

/** Returns the first sentence of a description, for the list of commands. */
const asPhrase = (command: Command): string => (command.summary() || command.description()).split(/\.(?:\s|$)/)[0] ?? '';

/** Sets output and error handling of a command and its subcommands: errors are thrown instead of ending the process. */
function configure(command: Command, shell: Shell): void {
  command.exitOverride();
  command.configureOutput({ writeOut: (text) => shell.screen.write(text), writeErr: (text) => shell.printError(text) });
  command.configureHelp({ subcommandDescription: asPhrase });
  command.showHelpAfterError('(use --help for usage)');
  for (const child of command.commands) configure(child, shell);
}

export function createProgram(shell: Shell, finish: (code: number) => void): Command {
  const program = new Command('everstep')
    .description('Durable workflows over plain HTTP')
    .version(SERVICE_VERSION)
    .commandsGroup('Server:')
    .addCommand(serviceCommand('dev', shell, finish))
    .addCommand(serviceCommand('serve', shell, finish))
    .commandsGroup('Runs:')
    .addCommand(triggerCommand(shell, finish))
    .addCommand(runsCommand(shell))
    .addCommand(deadLetterCommand(shell))
    .addCommand(repairCommand(shell, finish))
    .addCommand(notifyCommand(shell))
    .addCommand(waitersCommand(shell))
    .addCommand(schedulesCommand(shell))
    .commandsGroup('Deliveries and messages:')
    .addCommand(flowCommand(shell))
    .addCommand(destinationsCommand(shell))
    .addCommand(messagesCommand(shell))
    .addCommand(queuesCommand(shell))
    .addCommand(urlGroupsCommand(shell))
    .commandsGroup('Queue instance:')
    .addCommand(settingsCommand(shell))
    .addCommand(keysCommand(shell))
    .addCommand(envCommand(shell))
    .addCommand(liveCommand(shell))
    .addCommand(nodesCommand(shell))
    .addCommand(searchCommand(shell))
    .commandsGroup('Administration:')
    .addCommand(adminCommand(shell))
    .addCommand(auditLogCommand(shell))
    .commandsGroup('Maintenance:')
    .addCommand(verifyCommand(shell))
    .addCommand(backupCommand(shell))
    .addCommand(verifyBackupCommand(shell))
    .addCommand(restoreCommand(shell))
    .addCommand(copyStoreCommand(shell))
    .addCommand(rotateSecretsCommand(shell))
    .commandsGroup('Testing:')
    .addCommand(clockCommand(shell))
    .addHelpText('after', CONNECTION_HELP)
    .addHelpText('after', EXIT_CODES_HELP);
  configure(program, shell);
  return program;
}

/** Runs the command line and resolves with the exit code. `args` exclude the program name. */
export async function runCli(args: readonly string[], given: Shell = terminal()): Promise<number> {
  let code: number = EXIT.ok;
  const secrets = readSecretFiles(given.env);
  const shell = secrets.ok ? { ...given, env: secrets.env } : given;
  const program = createProgram(shell, (result) => {
    code = result;
  });
  try {
    if (!secrets.ok) throw new UsageError(secrets.problems.join('\n'));
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    // Commander has already printed the error or the requested help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const failure = describeFailure(error);
    shell.printError(`${failure.message}\n`);
    return failure.code;
  }
}
