/** The command line of Everstep: its commands, and how it ends. */
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
The commands that talk to a service find it by --url and --token, then EVERSTEP_URL and EVERSTEP_TOKEN, then the
credentials that a service keeps in the local data directory (./.everstep or EVERSTEP_DATA_DIR). Flags are visible in the
list of processes: give secrets in variables, or in files (EVERSTEP_TOKEN_FILE, EVERSTEP_ADMIN_API_KEY_FILE).`;

/** Errors of the command line itself are thrown instead of ending the process; all commands below inherit that. */
function throwInsteadOfExit(command: Command, shell: Shell): void {
  command.exitOverride();
  command.configureOutput({ writeOut: (text) => shell.screen.write(text), writeErr: (text) => shell.complain(text) });
  command.showHelpAfterError('(--help shows what is possible)');
  for (const child of command.commands) throwInsteadOfExit(child, shell);
}

export function createProgram(shell: Shell, finish: (code: number) => void): Command {
  const program = new Command('everstep')
    .description('Durable workflow runs over plain HTTP, with a dead letter queue, in one command and one file')
    .version(SERVICE_VERSION)
    .addCommand(serviceCommand('dev', shell, finish))
    .addCommand(serviceCommand('serve', shell, finish))
    .addCommand(triggerCommand(shell, finish))
    .addCommand(runsCommand(shell))
    .addCommand(deadLetterCommand(shell))
    .addCommand(repairCommand(shell, finish))
    .addCommand(notifyCommand(shell))
    .addCommand(waitersCommand(shell))
    .addCommand(schedulesCommand(shell))
    .addCommand(flowCommand(shell))
    .addCommand(destinationsCommand(shell))
    .addCommand(messagesCommand(shell))
    .addCommand(queuesCommand(shell))
    .addCommand(urlGroupsCommand(shell))
    .addCommand(settingsCommand(shell))
    .addCommand(keysCommand(shell))
    .addCommand(liveCommand(shell))
    .addCommand(nodesCommand(shell))
    .addCommand(searchCommand(shell))
    .addCommand(envCommand(shell))
    .addCommand(adminCommand(shell))
    .addCommand(auditLogCommand(shell))
    .addCommand(verifyCommand(shell))
    .addCommand(backupCommand(shell))
    .addCommand(verifyBackupCommand(shell))
    .addCommand(restoreCommand(shell))
    .addCommand(copyStoreCommand(shell))
    .addCommand(rotateSecretsCommand(shell))
    .addCommand(clockCommand(shell))
    .addHelpText('after', CONNECTION_HELP)
    .addHelpText('after', EXIT_CODES_HELP);
  throwInsteadOfExit(program, shell);
  return program;
}

/** Resolves with the exit code. `args` are without the program's own name. */
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
    // commander has printed the reason (or the help that was asked for) already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const failure = describeFailure(error);
    shell.complain(`${failure.message}\n`);
    return failure.code;
  }
}
