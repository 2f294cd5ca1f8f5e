/** `everstep doctor`: examines an installation and prints what to do. */
import { resolve } from 'node:path';
import { Command } from 'commander';
import type { Finding } from '../../doctor/findings.js';
import { EXIT, UsageError } from '../../exit-codes.js';
import { countText, json, printable, type Screen, type Shell, type Style, styled } from '../../output.js';
import { configOf, withConfig } from './config-options.js';

const HOUR_MS = 3_600_000;
const DEFAULT_AGE_HOURS = '26';
const STATUS_MARKS: Readonly<Record<Finding['status'], readonly [string, Style]>> = {
  ok: ['ok', 'green'],
  warning: ['warning', 'yellow'],
  problem: ['PROBLEM', 'red'],
  skipped: ['skipped', 'dim'],
};
const [MARK_WIDTH, NAME_WIDTH] = [9, 13];

function showFindings(screen: Screen, findings: readonly Finding[]): void {
  for (const { check, status, message, fix } of findings) {
    const [mark, style] = STATUS_MARKS[status];
    screen.write(`${styled(screen, style, mark.padEnd(MARK_WIDTH))}${check.padEnd(NAME_WIDTH)}${printable(message)}\n`);
    if (fix !== null) screen.write(`${' '.repeat(MARK_WIDTH + NAME_WIDTH)}${printable(fix)}\n`);
  }
}

/** Returns the age in ms. Throws UsageError if it is not a number of hours. */
function parseAge(hours: string): number {
  const ageHours = Number(hours);
  if (/^\d{1,5}$/.test(hours) && ageHours >= 1) return ageHours * HOUR_MS;
  throw new UsageError(`--max-backup-age must be a number of hours from 1 to 99999; got "${hours}"`);
}

export function doctorCommand(shell: Shell, finish: (code: number) => void): Command {
  const { screen } = shell;
  const command = new Command('doctor')
    .summary('Check an installation and print what to do')
    .description(
      'Check an installation: the server if it runs, its store, disk, files, clock, TLS certificates, addresses, backups,\n' +
        "versions, limits, and settings that are risky in production. Run it on the server's machine, as the same\n" +
        'operating system user, with the same environment and flags as everstep serve. This command changes nothing.',
    )
    .usage('[options]');
  withConfig(command, 'serve')
    .option('--backups <directory>', 'directory that contains the backups, to check the age of the latest')
    .option('--max-backup-age <hours>', 'maximum age of the latest backup', DEFAULT_AGE_HOURS)
    .option('--json', 'print the findings as JSON')
    .action(async () => {
      const {
        backups,
        maxBackupAge,
        json: printsJson,
      } = command.opts<{ backups?: string; maxBackupAge: string; json?: boolean }>();
      const maxBackupAgeMs = parseAge(maxBackupAge);
      const config = configOf(command, 'serve', shell);
      // The modules are loaded only here, because no other command needs both stores.
      const [{ runChecks }, { probe }] = await Promise.all([
        import('../../doctor/doctor.js'),
        import('../../doctor/server-probe.js'),
      ]);
      const findings = await runChecks(config, {
        backups: backups === undefined ? null : resolve(shell.cwd, backups),
        maxBackupAgeMs,
        probe,
      });
      const count = (status: Finding['status']) => findings.filter((finding) => finding.status === status).length;
      const [problems, warnings] = [count('problem'), count('warning')];
      if (printsJson) screen.write(json({ problems, warnings, findings }));
      else {
        showFindings(screen, findings);
        screen.write(`\n${countText(problems, 'problem')}, ${countText(warnings, 'warning')}\n`);
      }
      finish(problems > 0 ? EXIT.refused : EXIT.ok);
    });
  return command;
}
