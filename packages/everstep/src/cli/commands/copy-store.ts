/** `everstep copy-store`: from the embedded store to PostgreSQL. */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { SETTINGS } from '../../config/settings.js';
import type { CopyProgress } from '../../store-copy/copying.js';
import { UsageError } from '../exit-codes.js';
import { json, type Shell, table } from '../output.js';

const TELL_EVERY_MS = 2000;

function addressOf(flag: string | undefined, { env, cwd }: Shell): string {
  const text = flag ?? env.EVERSTEP_STORE?.trim() ?? '';
  if (/^postgres(ql)?:/.test(text)) {
    try {
      const place = SETTINGS.store.parse(text, { mode: 'serve', cwd });
      if (place?.kind === 'postgres') return place.url;
    } catch (error) {
      throw new UsageError(`--to, or EVERSTEP_STORE, ${(error as Error).message}`);
    }
  }
  throw new UsageError('Name the database with --to postgres://user:password@host:port/database, or with EVERSTEP_STORE.');
}

function sourceOf(flag: string | undefined, { env, cwd }: Shell): string {
  const named = flag ?? env.EVERSTEP_DATA_DIR?.trim() ?? '';
  return named === '' ? SETTINGS.dataDir.fallback({ mode: 'serve', cwd }) : resolve(cwd, named);
}

/** Says now and then how far it is. */
function teller({ complain }: Shell): (progress: CopyProgress) => void {
  let toldAt = performance.now();
  return ({ doing, what, done, of }) => {
    const now = performance.now();
    if (now - toldAt < TELL_EVERY_MS) return;
    toldAt = now;
    complain(`${doing === 'writing' ? 'writing' : 'checking'} ${what}: ${done}${of === null ? '' : ` of ${of}`}\n`);
  };
}

/** Aborted by the first Ctrl-C or SIGTERM; the second one ends the process. */
function interruption(shell: Shell): { readonly signal: AbortSignal; done(): void } {
  const ending = new AbortController();
  const end = () => {
    shell.complain('Interrupted: taking back what was written ...\n');
    ending.abort(new Error('interrupted'));
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const name of signals) process.once(name, end);
  return {
    signal: ending.signal,
    done() {
      for (const name of signals) process.off(name, end);
    },
  };
}

export function copyStoreCommand(shell: Shell): Command {
  const { screen } = shell;
  return new Command('copy-store')
    .summary('Copy everything from the embedded store into an empty PostgreSQL schema')
    .description(
      'Copy everything from the embedded store into an empty PostgreSQL schema, and check the copy: runs, dead letters, schedules,\n' +
        'accounts, tokens, keys, counts, search indexes. Stop the service first, or copy a back-up. The embedded store stays as it\n' +
        'is. It is one transaction: whatever interrupts it, the schema is empty or complete. Then start services with\n' +
        'EVERSTEP_STORE=postgres://..., and see that none is started on the embedded store: both would do the same work.',
    )
    .option('--from <path>', 'data directory, directory of a back-up, or file of a store (or EVERSTEP_DATA_DIR)')
    .option('--to <url>', 'postgres://user:password@host:port/database (or EVERSTEP_STORE, which no other user sees)')
    .option('--json', 'print what was copied as JSON')
    .action(async (options: { from?: string; to?: string; json?: boolean }) => {
      const to = addressOf(options.to, shell);
      const from = sourceOf(options.from, shell);
      // Only now: no other command needs the stores.
      const { copyStore } = await import('../../store-copy/copying.js');
      const startedAt = performance.now();
      const { signal, done } = interruption(shell);
      try {
        const copied = await copyStore({ from, to, onProgress: teller(shell), signal });
        const tookMs = Math.round(performance.now() - startedAt);
        if (copied.changedTexts > 0)
          shell.complain(
            `${copied.changedTexts} texts had a character 0, which PostgreSQL does not take: it is U+FFFD in the copy.\n`,
          );
        if (options.json) return screen.write(json({ ...copied, tookMs }));
        const rows = copied.tables.filter((each) => each.rows > 0).map(({ what, rows, checksum }) => [what, rows, checksum]);
        screen.write(table(screen, ['what', 'rows', 'checksum'], rows));
        screen.write(
          `Copied ${copied.source === 'back-up' ? 'the back-up' : 'the store of a stopped service'} in ${Math.round(tookMs / 100) / 10} s, ` +
            'and read it again: both are the same. Start services with EVERSTEP_STORE, none on the embedded store.\n',
        );
      } finally {
        done();
      }
    });
}
