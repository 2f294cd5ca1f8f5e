/** Command line of the benchmark: a workload, then `--name value` pairs. */

export const WORKLOADS = ['W1', 'W2', 'W3', 'W4', 'W5', 'memory', 'waiting', 'limited'] as const;
export type Workload = (typeof WORKLOADS)[number];

export const SDKS = ['everstep', 'upstash'] as const;
export type Sdk = (typeof SDKS)[number];

export interface Options {
  readonly workload: Workload;
  /** Undefined: the default of the workload. */
  readonly runs: number | undefined;
  readonly concurrency: number | undefined;
  readonly repeat: number;
  readonly warmup: number | undefined;
  readonly steps: readonly number[] | undefined;
  /** What the worker serves its workflows with: our SDK, or the published `@upstash/workflow`, whose figures are printed beside ours. */
  readonly sdk: Sdk;
  /** Whether the worker verifies the signature of every request. */
  readonly verify: boolean;
  /** How long a run may take to end, and a backlog to drain. At most the longest wait for a result that the API allows. */
  readonly limitS: number;
}

export const USAGE = `usage: npm run bench -- <${WORKLOADS.join('|')}> [--runs n] [--concurrency n] [--repeat n] [--warmup n] [--steps n[,n...]] [--verify 0|1] [--limit seconds] [--sdk everstep|upstash]

  W1      throughput: runs of 5 steps in a row, 64 in flight
  W2      latency: one run of 5 steps at a time
  W3      fan-out: 20 runs of 100 parallel steps, 4 in flight
  W4      long journal: one run of 100, 1,000, 2,000 and 10,000 steps in a row
  W5      backlog: 5,000 triggers, each acknowledged durably, then drained
  memory  resident memory of the service before and after 100,000 finished runs
  waiting 100,000 runs that wait for an event: what they cost while nothing happens, and how fast all are notified
  limited 100,000 runs in the wait list of one flow control key, beside runs of another key and of none

With --sdk upstash the worker uses the published @upstash/workflow, and the figures of our SDK are measured after it
and printed beside its own, under "everstep".

Runs and backlogs that take longer than --limit (240 s, at most 600) end the measurement. Prints one line of JSON.`;

export class UsageError extends Error {}

const isWorkload = (text: string | undefined): text is Workload => WORKLOADS.some((workload) => workload === text);

function positive(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${name} must be a whole number above 0, not "${text}"`);
  return Number(text);
}

export function parseOptions(args: readonly string[]): Options {
  const [workload, ...rest] = args;
  if (!isWorkload(workload)) throw new UsageError(`the workload must be one of ${WORKLOADS.join(', ')}`);
  const values = new Map<string, string>();
  for (let i = 0; i < rest.length; i += 2) {
    const [flag = '', value] = rest.slice(i, i + 2);
    if (!/^--(runs|concurrency|repeat|warmup|steps|verify|limit|sdk)$/.test(flag))
      throw new UsageError(`unknown option "${flag}"`);
    if (value === undefined) throw new UsageError(`${flag} needs a value`);
    values.set(flag.slice(2), value);
  }
  const number = (name: string): number | undefined => {
    const text = values.get(name);
    return text === undefined ? undefined : positive(name, text);
  };
  const verify = values.get('verify') ?? '1';
  if (verify !== '0' && verify !== '1') throw new UsageError('--verify must be 0 or 1');
  const sdk = SDKS.find((name) => name === (values.get('sdk') ?? 'everstep'));
  if (!sdk) throw new UsageError(`--sdk must be one of ${SDKS.join(', ')}`);
  return {
    workload,
    sdk,
    runs: number('runs'),
    concurrency: number('concurrency'),
    repeat: number('repeat') ?? 1,
    warmup: values.get('warmup') === '0' ? 0 : number('warmup'),
    steps: values
      .get('steps')
      ?.split(',')
      .map((text) => positive('steps', text)),
    verify: verify === '1',
    limitS: Math.min(number('limit') ?? 240, 600),
  };
}
