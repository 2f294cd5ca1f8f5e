/**
 * Compares two servers: this version, and the same with other settings or another build. Both run at the same time and execute
 * short slices of W1 in turn, so that the noise of the machine affects both.
 */
import { type Engine, startEngine } from './engine.js';
import { measure, median, rounded } from './meter.js';
import type { Options } from './options.js';
import { inFlight, type Report, shortRun } from './workloads.js';

const SLICES = 20;

interface Slice {
  readonly cpuMsPerRun: number;
  readonly msPerRun: number;
}

async function slice(engine: Engine, runs: number, concurrency: number): Promise<Slice> {
  const cost = await measure(engine, () => inFlight(runs, concurrency, shortRun(engine)));
  const cpu = cost.cpuServer + (cost.cpuDatabase ?? 0);
  return { cpuMsPerRun: (cpu * 1000) / runs, msPerRun: (cost.seconds * 1000) / runs };
}

/** Returns the median of the ratios in percent over 100, and the standard error of their mean. */
function summary(ratios: readonly number[]) {
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
  const variance = ratios.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / Math.max(1, ratios.length - 1);
  const percent = (ratio: number): number => rounded((ratio - 1) * 100, 2);
  return {
    medianPercent: percent(median(ratios)),
    meanPercent: percent(mean),
    standardErrorPercent: rounded(Math.sqrt(variance / ratios.length) * 100, 2),
  };
}

interface Pair {
  readonly base: Slice;
  readonly changed: Slice;
}

/** Runs slices on both servers in turn. The one that is started first is often slower, so each one must be it once. */
async function pairsOf(options: Options, slices: number, isChangedFirst: boolean): Promise<readonly Pair[]> {
  const { runs = 400, concurrency = 64, warmup = 6_000, changed } = options;
  const engines: Engine[] = [];
  try {
    const start = async (isChanged: boolean): Promise<Engine> => {
      const engine = await startEngine(options, isChanged ? changed : undefined);
      engines.push(engine);
      await inFlight(warmup, concurrency, shortRun(engine));
      return engine;
    };
    const [first, second] = [await start(isChangedFirst), await start(!isChangedFirst)];
    const pairs: Pair[] = [];
    for (let index = 0; index < slices; index++) {
      const results = new Map<Engine, Slice>();
      for (const engine of index % 2 === 0 ? [first, second] : [second, first])
        results.set(engine, await slice(engine, runs, concurrency));
      const [ofFirst, ofSecond] = [results.get(first), results.get(second)];
      if (ofFirst && ofSecond)
        pairs.push(isChangedFirst ? { base: ofSecond, changed: ofFirst } : { base: ofFirst, changed: ofSecond });
    }
    return pairs;
  } finally {
    for (const engine of engines) await engine.stop();
  }
}

/** Reports how much more CPU time and time the changed server needs for each run. */
export async function comparePairs(options: Options): Promise<Report> {
  const slices = Math.ceil((options.repeat === 1 ? SLICES : options.repeat) / 2);
  const pairs = [...(await pairsOf(options, slices, false)), ...(await pairsOf(options, slices, true))];
  return {
    engine: 'everstep',
    w: 'pairs',
    slices: pairs.length,
    ...options.changed,
    cpuMsPerRun: rounded(median(pairs.map((pair) => pair.base.cpuMsPerRun)), 3),
    cpu: summary(pairs.map((pair) => pair.changed.cpuMsPerRun / pair.base.cpuMsPerRun)),
    time: summary(pairs.map((pair) => pair.changed.msPerRun / pair.base.msPerRun)),
  };
}
