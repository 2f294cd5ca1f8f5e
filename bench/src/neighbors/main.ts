/**
 * `npm run bench:neighbors`: measures runs of a quiet account alone, and during each attack of a hostile account. Prints one
 * line per attack, then one line of JSON.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { round } from '../meter.js';
import { ATTACKS, type Attack } from './attacks.js';
import { type Benchmark, startBenchmark } from './benchmark.js';

/** Maximum ratio of the p99 during an attack to the p99 without it. */
const MAX_SLOWDOWN = 3;
const WARMUP_RUNS = 200;
/** Time before a measurement, so that the steady state of an attack is measured. */
const SETTLE_MS = 1_000;

const USAGE = `usage: npm run bench:neighbors -- [--only name[,name...]] [--runs n] [--per-second n] [--assert]

  --only        attacks to measure: ${ATTACKS.map(({ name }) => name).join(', ')}
  --runs        runs of the quiet account in each measurement (200)
  --per-second  runs started per second (20)
  --assert      exits with 1 if an attack makes the p99 more than ${MAX_SLOWDOWN} times as long, or a run fails`;

interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

interface AttackResult {
  readonly attack: string;
  readonly alone: Latency;
  readonly beside: Latency;
  /** Ratio of the p99 during the attack to the p99 without it. */
  readonly ratio: number;
  readonly failed: number;
  /** Responses to the hostile account, by status. */
  readonly responses: Readonly<Record<string, number>>;
}

interface Pace {
  readonly runs: number;
  readonly perSecond: number;
}

/** Starts runs at fixed times, even if earlier ones have not ended. A failed run counts as the longest. */
async function latencyOf({ quietRun }: Benchmark, { runs, perSecond }: Pace): Promise<Latency & { readonly failed: number }> {
  const startedAt = performance.now();
  const results = await Promise.allSettled(
    Array.from({ length: runs }, async (_, index) => {
      await pause(Math.max(0, startedAt + (index * 1000) / perSecond - performance.now()));
      return quietRun();
    }),
  );
  const durationsMs = results
    .flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [Number.POSITIVE_INFINITY]))
    .sort((a, b) => a - b);
  const percentile = (share: number): number => round(durationsMs[Math.min(runs - 1, Math.floor(runs * share))] ?? Number.NaN);
  return {
    p50: percentile(0.5),
    p99: percentile(0.99),
    max: percentile(1),
    failed: durationsMs.filter((durationMs) => durationMs === Number.POSITIVE_INFINITY).length,
  };
}

async function measure({ name }: Attack, pace: Pace): Promise<AttackResult> {
  const benchmark = await startBenchmark();
  try {
    await latencyOf(benchmark, { runs: WARMUP_RUNS, perSecond: 50 });
    await benchmark.attack('prepare', name);
    await pause(SETTLE_MS);
    const { failed: _, ...alone } = await latencyOf(benchmark, pace);
    const attackStart = benchmark.attack('begin', name);
    // An attack that takes longer to start is measured while it starts.
    await Promise.race([attackStart, pause(60_000)]);
    await pause(SETTLE_MS);
    const { failed, ...beside } = await latencyOf(benchmark, pace);
    const responses = await benchmark.attack('stop', name);
    return { attack: name, alone, beside, ratio: round(beside.p99 / alone.p99), failed, responses };
  } finally {
    await benchmark.stop();
  }
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    runs: { type: 'string', default: '200' },
    'per-second': { type: 'string', default: '20' },
    assert: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const pace = { runs: Number(values.runs), perSecond: Number(values['per-second']) };
const attackNames = values.only?.split(',');
const selectedAttacks = ATTACKS.filter(({ name }) => attackNames?.includes(name) ?? true);
const areNamesValid = attackNames === undefined || attackNames.length === selectedAttacks.length;
if (values.help || !areNamesValid || !(pace.runs > 0) || !(pace.perSecond > 0)) {
  console.error(USAGE);
  process.exitCode = values.help ? 0 : 2;
} else {
  const report: AttackResult[] = [];
  const failures: Record<string, string> = {};
  const printRow = (...cells: readonly (string | number)[]): void =>
    console.log(cells.map((cell, index) => (index === 0 ? String(cell).padEnd(18) : String(cell).padStart(12))).join(''));
  printRow('attack', 'alone p50', 'alone p99', 'beside p50', 'beside p99', 'ratio');
  for (const attack of selectedAttacks) {
    try {
      const result = await measure(attack, pace);
      report.push(result);
      const { alone, beside, ratio } = result;
      printRow(attack.name, alone.p50, alone.p99, beside.p50, beside.p99, ratio);
    } catch (error) {
      failures[attack.name] = String(error);
      printRow(attack.name, 'failed');
      console.error(failures[attack.name]);
    }
  }
  console.log(JSON.stringify({ node: process.version, ...pace, report, failures }));
  const isWithinLimits = report.every(({ ratio, failed }) => ratio <= MAX_SLOWDOWN && failed === 0);
  process.exitCode = Object.keys(failures).length > 0 || (values.assert && !isWithinLimits) ? 1 : 0;
}
