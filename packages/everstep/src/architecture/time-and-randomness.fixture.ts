/** Lists where code may read the clock of the machine, set timers and create randomness, in addition to `clock/`. */
import { isBelow, isTest, type Source, usesOf } from './source.fixture.js';

type Kind = 'clock' | 'timers' | 'randomness';

const NAMES: Readonly<Record<Kind, RegExp>> = {
  clock: /^(Date\.now|new Date\(\)|performance|process\.hrtime)$/,
  timers: /^set(Timeout|Interval|Immediate)$/,
  randomness: /^(Math\.random|(crypto\.)?(random(Bytes|UUID|Int)|getRandomValues))$/,
};

interface Exception {
  readonly reason: string;
  readonly kinds: readonly Kind[];
  readonly paths: readonly string[];
}

/** Sources that may do so, with the reason. Paths are relative to `everstep/src/`. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    reason: 'the command line waits for a person and prints the time of their machine; nothing that it decides is stored',
    kinds: ['clock', 'timers'],
    paths: ['cli'],
  },
  {
    reason: 'secrets, nonces and ids that must not be guessed come from the operating system, whatever a test simulates',
    kinds: ['randomness'],
    paths: [
      'accounts/tokens/authority.ts',
      'backup/encryption/backup-cipher.ts',
      'bootstrap/secrets-key.ts',
      'search/search-tokens.ts',
      'secrets/key-ring.ts',
      'secrets/sealed-values.ts',
      'sign-in/sealed-state.ts',
      'stores/postgres/cluster/node-lease.ts',
      'stores/sqlite/connection/commit-count.ts',
    ],
  },
  {
    reason: 'names of temporary files, sockets and requests only have to be new, and no decision depends on them',
    kinds: ['randomness'],
    paths: [
      'backup/control-channel.ts',
      'backup/taking.ts',
      'backup/verifying.ts',
      'bootstrap/private-file.ts',
      'http-api/server/request-log.ts',
    ],
  },
  {
    reason: 'spreads writes over rows and retries over time, and fills probe writes; the result does not depend on it',
    kinds: ['randomness'],
    paths: [
      'stores/postgres/commit/clock-marks.ts',
      'stores/postgres/connection/connection.ts',
      'stores/postgres/connection/probe-write.ts',
      'stores/postgres/sharding/shard-servers.ts',
      'stores/sqlite/connection/probe-write.ts',
    ],
  },
  {
    reason: 'leases and fences are compared with the monotonic clock of the machine, which a simulated clock must not replace',
    kinds: ['clock', 'timers'],
    paths: [
      'stores/postgres/cluster/cluster.ts',
      'stores/postgres/cluster/lease-watch.ts',
      'stores/postgres/cluster/node-lease.ts',
    ],
  },
  {
    reason: 'nodes use the time of the database; this measures how long ago it was read',
    kinds: ['clock'],
    paths: ['stores/postgres/connection/database-time.ts'],
  },
  {
    reason: 'a default that tests replace: elapsed time of this process',
    kinds: ['clock'],
    paths: [
      'ports/throttled-log.ts',
      'secrets/key-ring.ts',
      'step-calls/names/index.ts',
      'stores/postgres/connection/cpu-load.ts',
    ],
  },
  {
    reason: 'waits for a network or a disk, whose time no clock simulates: reconnects, timeouts and pauses',
    kinds: ['clock', 'timers'],
    paths: [
      'accounts/quotas/stored-bytes-cache.ts',
      'step-calls/exchanges',
      'step-calls/names/index.ts',
      'stores/postgres/cluster/notices.ts',
      'stores/postgres/commit/confirmations.ts',
      'stores/postgres/sharding/calls-in-progress.ts',
      'stores/postgres/connection/connection.ts',
      'stores/postgres/connection/migrate.ts',
      'stores/postgres/connection/primary.ts',
      'stores/postgres/sharding/server-watch.ts',
      'stores/postgres/sharding/shard-servers.ts',
      'stores/postgres/storage/diagnosis.ts',
      'stores/sqlite/connection/durable-mark.ts',
      'stores/sqlite/connection/log-sync.ts',
      'stores/sqlite/storage/online-copy.ts',
    ],
  },
  {
    reason: 'limits how long clients wait, and how often they are written to, by the clock of the machine',
    kinds: ['clock', 'timers'],
    paths: [
      'http-api/admission/read-budget.ts',
      'http-api/live/hint-stream.ts',
      'http-api/operations/control/service.ts',
      'http-api/read-models/run-scan.ts',
      'http-api/read-models/list-summaries/scan.ts',
    ],
  },
  {
    reason: 'gives other work of this process a turn between the parts of long work; no time is measured',
    kinds: ['timers'],
    paths: [
      'backup/interruption.ts',
      'http-api/operations/events/waiters.ts',
      'ports/stores/history-parts.ts',
      'stores/postgres/runs/run-records.ts',
      'stores/sqlite/repairs/repairs.ts',
      'stores/sqlite/runs/retention.ts',
      'stores/sqlite/search/document-host.ts',
    ],
  },
  {
    reason: 'returns memory to the operating system while the process is idle',
    kinds: ['timers'],
    paths: ['bootstrap/idle-memory.ts'],
  },
  {
    reason: 'dates of files and of backups are for display, and follow the clock of their machine',
    kinds: ['clock'],
    paths: ['backup/control-commands.ts', 'backup/taking.ts', 'stores/sqlite/connection/store-loss.ts'],
  },
  {
    reason: 'the age of a key is measured by the clock of the machine, as in other processes with the same keys',
    kinds: ['clock'],
    paths: ['http-api/requests/cursor.ts', 'rotation/rotate-command.ts'],
  },
];

const isExcepted = (kind: Kind, path: string): boolean =>
  EXCEPTIONS.some(
    ({ kinds, paths }) => kinds.includes(kind) && paths.some((exceptedPath) => isBelow(path, `everstep/src/${exceptedPath}`)),
  );

const isServerSource = (path: string): boolean =>
  path.startsWith('everstep/src/') && !path.startsWith('everstep/src/clock/') && !isTest(path);

export const TIME_AND_RANDOMNESS = (['clock', 'timers', 'randomness'] as const).map((kind) => ({
  applies: (path: string): boolean => isServerSource(path) && !isExcepted(kind, path),
  names: NAMES[kind],
  advice: `pass in the ${kind === 'timers' ? 'clock' : kind}, or add an exception with its reason`,
}));

/** Returns the exceptions that no code needs. */
export const unneededExceptions = (sources: readonly Source[]): readonly string[] =>
  EXCEPTIONS.flatMap(({ kinds, paths }) =>
    paths.filter((exceptedPath) => {
      const uses = sources.filter(({ path }) => isBelow(path, `everstep/src/${exceptedPath}`) && !isTest(path)).flatMap(usesOf);
      return !kinds.some((kind) => uses.some(({ name }) => NAMES[kind].test(name)));
    }),
  );
