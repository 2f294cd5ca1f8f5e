/** Command line of the benchmark: a workload and `--name value` pairs. */

export const WORKLOADS = ['W1', 'W2', 'W3', 'W4', 'W5', 'memory', 'waiting', 'limited', 'connected', 'table', 'pairs'] as const;
export type Workload = (typeof WORKLOADS)[number];

export const SDKS = ['everstep', 'upstash'] as const;
export type Sdk = (typeof SDKS)[number];

export const STORES = ['embedded', 'postgres'] as const;
export type StoreName = (typeof STORES)[number];

export const TRANSPORTS = ['http', 'connection'] as const;
/** How steps reach the worker: HTTP requests of the server, or a connection that the worker opens. */
export type Transport = (typeof TRANSPORTS)[number];

/** Environment variable of the worker that contains the maximum number of steps that it reports together. */
export const CHECKPOINT_VARIABLE = 'EVERSTEP_BENCH_CHECKPOINT';

/** Describes how the second server of `pairs` differs. */
export interface ChangedServer {
  /** Path of the `bin.js` of another build; null for this build. */
  readonly against: string | null;
  /** Environment variables. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface Options {
  readonly workload: Workload;
  /** Undefined for the default of the workload. */
  readonly runs: number | undefined;
  readonly concurrency: number | undefined;
  readonly repeat: number;
  readonly warmup: number | undefined;
  readonly steps: readonly number[] | undefined;
  /** SDK of the worker: `@everstep/sdk`, or the published `@upstash/workflow`, which is measured for comparison. */
  readonly sdk: Sdk;
  readonly via: Transport;
  /** Path without extension of the files that `table` writes. */
  readonly out: string;
  /** The embedded store, or PostgreSQL, which is compared with the embedded store. */
  readonly store: StoreName;
  /** Number of nodes that share the PostgreSQL database. Clients use them in turn. The embedded store has 1. */
  readonly nodes: number;
  /** URL of an existing empty database; null if a server is started for the measurement. */
  readonly database: string | null;
  /** Whether the worker verifies the signature of every request. */
  readonly verify: boolean;
  /** Maximum number of steps that the worker reports together. With 1, it reports each step separately. */
  readonly checkpoint: number;
  /** Whether the default is also measured for comparison: the embedded store, HTTP, or single steps. */
  readonly beside: boolean;
  readonly changed: ChangedServer;
  /** Maximum duration of a run, and of draining a backlog. The API limits waits for a result to 600 s. */
  readonly limitS: number;
}

/** Options of a single measurement. */
export type Measurable = Options & { readonly workload: Exclude<Workload, 'table' | 'pairs'> };

export const USAGE = `usage: npm run bench -- <${WORKLOADS.join('|')}> [--runs n] [--concurrency n] [--repeat n] [--warmup n] [--steps n[,n...]] [--verify 0|1] [--limit seconds] [--sdk everstep|upstash] [--store embedded|postgres] [--nodes n] [--via http|connection] [--checkpoint n] [--out path] [--settings NAME=value[,NAME=value...]] [--against path]

  W1      throughput: runs of 5 sequential steps, 64 in flight
  W2      latency: one run of 5 steps at a time
  W3      fan-out: 20 runs of 100 parallel steps, 4 in flight
  W4      long journal: one run of 100, 1,000, 2,000 and 10,000 sequential steps
  W5      backlog: trigger 5,000 runs, then wait until all are done
  memory  resident memory of the server before and after 100,000 finished runs
  waiting 100,000 runs that wait for an event: their cost while nothing happens, and how fast all of them are notified
  limited 100,000 runs in the wait list of one flow control key, next to runs without a key
  connected  memory of Everstep for each of 500 connected workers that do nothing
  table   W1 to W5 and memory, over HTTP and over a connection, and W1 with several database sizes; writes
          <out>.md and <out>.json (default: bench-results)
  pairs   W1 in turn on this server and on one with other settings (--settings) or of another build (--against <its bin.js>):
          how much more CPU time and time the second one needs

With --via connection, the worker opens a connection to the server. The same is then measured over HTTP and printed under "http";
--beside 0 skips that.

With --sdk upstash, the worker uses the published @upstash/workflow. The same is then measured with @everstep/sdk and printed
under "everstep".

With --store postgres, the store is a PostgreSQL server that is started for the measurement, with fsync on, or the empty database
in EVERSTEP_STORE. --nodes is the number of processes that share it. The same is then measured with the embedded store and printed
under "embedded"; --beside 0 skips that.

With --checkpoint n, the worker reports up to n sequential steps together. The same is then measured without a checkpoint and
printed under "single"; --beside 0 skips that.

Runs and backlogs that take longer than --limit (240 s, at most 600) end the measurement. Prints one line of JSON.`;

export class UsageError extends Error {}

const isWorkload = (text: string | undefined): text is Workload => WORKLOADS.some((workload) => workload === text);

function parsePositive(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${name} must be a positive whole number; got "${text}"`);
  return Number(text);
}

function parseSettings(text: string | undefined): Readonly<Record<string, string>> {
  const pairs = text?.split(',').map((pair) => {
    const equals = pair.indexOf('=');
    if (equals < 1) throw new UsageError(`--settings must be NAME=value pairs; got "${pair}"`);
    return [pair.slice(0, equals), pair.slice(equals + 1)] as const;
  });
  return Object.fromEntries(pairs ?? []);
}

export function parseOptions(args: readonly string[], env: NodeJS.ProcessEnv): Options {
  const [workload, ...flags] = args;
  if (!isWorkload(workload)) throw new UsageError(`the workload must be one of ${WORKLOADS.join(', ')}`);
  const values = new Map<string, string>();
  for (let i = 0; i < flags.length; i += 2) {
    const [flag = '', value] = flags.slice(i, i + 2);
    if (
      !/^--(runs|concurrency|repeat|warmup|steps|verify|limit|sdk|store|nodes|beside|via|out|checkpoint|against|settings)$/.test(
        flag,
      )
    )
      throw new UsageError(`unknown option "${flag}"`);
    if (value === undefined) throw new UsageError(`${flag} requires a value`);
    values.set(flag.slice(2), value);
  }
  const numberOf = (name: string): number | undefined => {
    const text = values.get(name);
    return text === undefined ? undefined : parsePositive(name, text);
  };
  const verify = values.get('verify') ?? '1';
  if (verify !== '0' && verify !== '1') throw new UsageError('--verify must be 0 or 1');
  const sdk = SDKS.find((name) => name === (values.get('sdk') ?? 'everstep'));
  if (!sdk) throw new UsageError(`--sdk must be one of ${SDKS.join(', ')}`);
  const database = /^postgres(ql)?:/.test(env.EVERSTEP_STORE ?? '') ? (env.EVERSTEP_STORE ?? null) : null;
  const store = STORES.find((name) => name === (values.get('store') ?? (database === null ? 'embedded' : 'postgres')));
  if (!store) throw new UsageError(`--store must be one of ${STORES.join(', ')}`);
  const nodes = numberOf('nodes') ?? 1;
  if (nodes > 1 && store !== 'postgres') throw new UsageError('--nodes requires --store postgres');
  const via = TRANSPORTS.find((name) => name === (values.get('via') ?? 'http'));
  if (!via) throw new UsageError(`--via must be one of ${TRANSPORTS.join(', ')}`);
  if (via === 'connection' && (sdk !== 'everstep' || nodes > 1))
    throw new UsageError('--via connection requires one node and --sdk everstep');
  const checkpoint = numberOf('checkpoint') ?? 1;
  if (checkpoint > 1 && sdk !== 'everstep') throw new UsageError('--checkpoint requires --sdk everstep');
  const beside = values.get('beside') ?? '1';
  if (beside !== '0' && beside !== '1') throw new UsageError('--beside must be 0 or 1');
  return {
    workload,
    sdk,
    via,
    out: values.get('out') ?? 'bench-results',
    store,
    nodes,
    checkpoint,
    database: store === 'postgres' ? database : null,
    beside: beside === '1',
    changed: { against: values.get('against') ?? null, settings: parseSettings(values.get('settings')) },
    runs: numberOf('runs'),
    concurrency: numberOf('concurrency'),
    repeat: numberOf('repeat') ?? 1,
    warmup: values.get('warmup') === '0' ? 0 : numberOf('warmup'),
    steps: values
      .get('steps')
      ?.split(',')
      .map((text) => parsePositive('steps', text)),
    verify: verify === '1',
    limitS: Math.min(numberOf('limit') ?? 240, 600),
  };
}
