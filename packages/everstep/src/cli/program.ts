/** The command line of Everstep: its commands and error handling. */
import { Command, CommanderError } from 'commander';
import { readSecretFiles } from '../config/secret-files.js';
import { SERVER_VERSION } from '../step-calls/version.js';
import { adminCommand } from './commands/admin/admin.js';
import { alertsCommand } from './commands/alerts/alerts.js';
import { auditLogCommand } from './commands/control/audit.js';
import { clockCommand } from './commands/control/clock.js';
import { destinationsCommand } from './commands/control/destinations.js';
import { flowCommand } from './commands/control/flow.js';
import { insightsCommand } from './commands/control/insights.js';
import { keysCommand } from './commands/control/keys.js';
import { liveCommand, nodesCommand } from './commands/control/live.js';
import { schedulesCommand } from './commands/control/schedules.js';
import { settingsCommand } from './commands/control/settings.js';
import { workersCommand } from './commands/control/workers.js';
import { deadLetterCommand } from './commands/dead-letters/dead-letters.js';
import { repairCommand } from './commands/dead-letters/repairs.js';
import { backupCommand, restoreCommand, verifyBackupCommand, verifyCommand } from './commands/installation/backup.js';
import { copyStoreCommand } from './commands/installation/copy-store.js';
import { doctorCommand } from './commands/installation/doctor.js';
import { envCommand } from './commands/installation/env.js';
import { rotateSecretsCommand } from './commands/installation/rotate-secrets.js';
import { serverCommand } from './commands/installation/server.js';
import { storeCommand } from './commands/installation/store.js';
import { messagesCommand } from './commands/messages/messages.js';
import { queuesCommand } from './commands/messages/queues.js';
import { urlGroupsCommand } from './commands/messages/url-groups.js';
import { decryptCommand } from './commands/runs/decrypt.js';
import { notifyCommand, waitersCommand } from './commands/runs/notify.js';
import { runsCommand } from './commands/runs/runs.js';
import { triggerCommand } from './commands/runs/trigger.js';
import { searchCommand } from './commands/search.js';
import { describeFailure, EXIT, EXIT_CODES_HELP, UsageError } from './exit-codes.js';
import { createTerminalShell, printableLines, type Shell } from './output.js';

const CONNECTION_HELP = `
Client commands connect to the server given by --url and --token. The defaults are EVERSTEP_URL and EVERSTEP_TOKEN, then
the credentials in the local data directory (EVERSTEP_DATA_DIR, by default ./.everstep). Other users can see flags in the
process list: pass secrets in environment variables or files (EVERSTEP_TOKEN_FILE, EVERSTEP_ADMIN_API_KEY_FILE).`;

/** Returns the first sentence of a description, for the list of commands. */
const summaryOf = (command: Command): string => (command.summary() || command.description()).split(/\.(?:\s|$)/)[0] ?? '';

/** Sets the output of a command and its subcommands, and makes them throw errors instead of ending the process. */
function configure(command: Command, shell: Shell): void {
  command.exitOverride();
  command.configureOutput({ writeOut: (text) => shell.screen.write(text), writeErr: (text) => shell.printError(text) });
  command.configureHelp({ subcommandDescription: summaryOf });
  command.showHelpAfterError('(use --help for usage)');
  for (const child of command.commands) configure(child, shell);
}

/** Creates the command line. A command whose exit code can differ from 0 calls `finish` with it. */
export function createProgram(shell: Shell, finish: (code: number) => void): Command {
  const program = new Command('everstep')
    .description('Durable workflows over plain HTTP')
    .version(SERVER_VERSION)
    .commandsGroup('Server:')
    .addCommand(serverCommand('dev', shell, finish))
    .addCommand(serverCommand('serve', shell, finish))
    .commandsGroup('Runs:')
    .addCommand(triggerCommand(shell, finish))
    .addCommand(runsCommand(shell))
    .addCommand(deadLetterCommand(shell))
    .addCommand(repairCommand(shell, finish))
    .addCommand(notifyCommand(shell))
    .addCommand(waitersCommand(shell))
    .addCommand(insightsCommand(shell))
    .addCommand(schedulesCommand(shell))
    .addCommand(decryptCommand(shell, finish))
    .commandsGroup('Deliveries and messages:')
    .addCommand(flowCommand(shell))
    .addCommand(destinationsCommand(shell))
    .addCommand(workersCommand(shell))
    .addCommand(messagesCommand(shell))
    .addCommand(queuesCommand(shell))
    .addCommand(urlGroupsCommand(shell))
    .commandsGroup('Queue instance:')
    .addCommand(alertsCommand(shell))
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
    .addCommand(doctorCommand(shell, finish))
    .addCommand(verifyCommand(shell))
    .addCommand(backupCommand(shell))
    .addCommand(verifyBackupCommand(shell))
    .addCommand(restoreCommand(shell))
    .addCommand(copyStoreCommand(shell))
    .addCommand(storeCommand(shell))
    .addCommand(rotateSecretsCommand(shell))
    .commandsGroup('Testing:')
    .addCommand(clockCommand(shell))
    .addHelpText('after', CONNECTION_HELP)
    .addHelpText('after', EXIT_CODES_HELP);
  configure(program, shell);
  return program;
}

/** Runs the command line and resolves with the exit code. `args` exclude the program name. */
export async function runCli(args: readonly string[], baseShell: Shell = createTerminalShell()): Promise<number> {
  let code: number = EXIT.ok;
  const secrets = readSecretFiles(baseShell.env);
  const shell = secrets.ok ? { ...baseShell, env: secrets.env } : baseShell;
  const program = createProgram(shell, (exitCode) => {
    code = exitCode;
  });
  try {
    if (!secrets.ok) throw new UsageError(secrets.problems.join('\n'));
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    // Commander has already printed the error or the requested help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const failure = describeFailure(error);
    // The message can contain texts of the server.
    shell.printError(`${printableLines(failure.message)}\n`);
    return failure.code;
  }
}
