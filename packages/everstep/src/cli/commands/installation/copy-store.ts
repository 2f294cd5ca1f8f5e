/** `everstep copy-store`: copies the embedded store to PostgreSQL. */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { SETTINGS } from '../../../config/settings.js';
import type { CopyProgress } from '../../../store-copy/copying.js';
import { UsageError } from '../../exit-codes.js';
import { countText, json, type Shell, table } from '../../output.js';
import { abortOnSignal } from '../../shutdown.js';

const REPORT_EVERY_MS = 2000;

function databaseUrlOf(flag: string | undefined, { env, cwd }: Shell): string {
  const text = flag ?? env.EVERSTEP_STORE?.trim() ?? '';
  if (/^postgres(ql)?:/.test(text)) {
    try {
      const location = SETTINGS.store.parse(text, { mode: 'serve', cwd });
      if (location?.kind === 'postgres') return location.url;
    } catch (error) {
      throw new UsageError(`--to or EVERSTEP_STORE ${(error as Error).message}`);
    }
  }
  throw new UsageError('No database: set --to or EVERSTEP_STORE to postgres://user:password@host:port/database.');
}

function sourcePathOf(flag: string | undefined, { env, cwd }: Shell): string {
  const path = flag ?? env.EVERSTEP_DATA_DIR?.trim() ?? '';
  return path === '' ? SETTINGS.dataDir.fallback({ mode: 'serve', cwd }) : resolve(cwd, path);
}

/** Returns a listener that prints the progress at intervals. */
function progressPrinter({ printError }: Shell): (progress: CopyProgress) => void {
  let printedAt = performance.now();
  return ({ phase, item, count, total }) => {
    const now = performance.now();
    if (now - printedAt < REPORT_EVERY_MS) return;
    printedAt = now;
    printError(`${phase === 'writing' ? 'writing' : 'checking'} ${item}: ${count}${total === null ? '' : ` of ${total}`}\n`);
  };
}

export function copyStoreCommand(shell: Shell): Command {
  const { screen } = shell;
  return new Command('copy-store')
    .summary('Copy everything from the embedded store into an empty PostgreSQL schema')
    .description(
      'Copy everything from the embedded store into an empty PostgreSQL schema and verify the copy: runs, dead letters,\n' +
        'schedules, accounts, tokens, keys, counters and search indexes. Stop the server first, or copy a backup. The embedded\n' +
        'store is not changed. The copy is one transaction: if it is interrupted, the schema stays empty. Afterwards start\n' +
        'servers with EVERSTEP_STORE=postgres://..., and none on the embedded store, or both execute the same work.',
    )
    .option('--from <path>', 'data directory, backup directory or store file (or EVERSTEP_DATA_DIR)')
    .option('--to <url>', 'postgres://user:password@host:port/database (or EVERSTEP_STORE, which other users cannot see)')
    .option('--json', 'print the result as JSON')
    .action(async (options: { from?: string; to?: string; json?: boolean }) => {
      const to = databaseUrlOf(options.to, shell);
      const from = sourcePathOf(options.from, shell);
      // The module is loaded only here, because no other command needs the stores.
      const { copyStore } = await import('../../../store-copy/copying.js');
      const startedAt = performance.now();
      const report = await abortOnSignal(shell, 'Interrupted, rolling back ...', (signal) =>
        copyStore({ from, to, onProgress: progressPrinter(shell), signal }),
      );
      const tookMs = Math.round(performance.now() - startedAt);
      if (report.changedTexts > 0)
        shell.printError(
          `${countText(report.changedTexts, 'text')} contained NUL characters, which PostgreSQL does not support; the copy has U+FFFD instead.\n`,
        );
      if (options.json) return screen.write(json({ ...report, tookMs }));
      const rows = report.tables.filter(({ rows }) => rows > 0).map(({ what, rows, checksum }) => [what, rows, checksum]);
      screen.write(table(screen, ['TABLE', 'ROWS', 'CHECKSUM'], rows));
      screen.write(
        `Copied and verified ${report.source === 'back-up' ? 'the backup' : 'the store of a stopped server'} in ${Math.round(tookMs / 100) / 10} s. ` +
          'Start servers with EVERSTEP_STORE, and none on the embedded store.\n',
      );
    });
}
