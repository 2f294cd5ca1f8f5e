/**
 * Compares two servers: this version, and the same with other settings or another build. Both run at the same time and execute
 * short slices of W1 in turn, so that the noise of the machine affects both.
 */
import { type Engine, startEngine } from './engine.js';
import { measure, median, round } from './meter.js';
import type { Options } from './options.js';
import { type Report, runConcurrently, shortRun } from './workloads.js';

const SLICES = 20;

interface Slice {
  readonly cpuMsPerRun: number;
  readonly msPerRun: number;
}

async function runSlice(engine: Engine, runs: number, concurrency: number): Promise<Slice> {
  const cost = await measure(engine, () => runConcurrently(runs, concurrency, shortRun(engine)));
  const cpu = cost.cpuServer + (cost.cpuDatabase ?? 0);
  return { cpuMsPerRun: (cpu * 1000) / runs, msPerRun: (cost.seconds * 1000) / runs };
}

/** Returns by how many percent the median and the mean of the ratios exceed 1, and the standard error of the mean. */
function summarize(ratios: readonly number[]) {
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
  const variance = ratios.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / Math.max(1, ratios.length - 1);
  const percent = (ratio: number): number => round((ratio - 1) * 100, 2);
  return {
    medianPercent: percent(median(ratios)),
    meanPercent: percent(mean),
    standardErrorPercent: round(Math.sqrt(variance / ratios.length) * 100, 2),
  };
}

interface Pair {
  readonly base: Slice;
  readonly changed: Slice;
}

/** Runs slices on both servers in turn. The server that starts first is often slower, so callers measure both orders. */
async function measurePairs(options: Options, sliceCount: number, isChangedFirst: boolean): Promise<readonly Pair[]> {
  const { runs = 400, concurrency = 64, warmup = 6_000, changed } = options;
  const engines: Engine[] = [];
  try {
    const startServer = async (isChanged: boolean): Promise<Engine> => {
      const engine = await startEngine(options, isChanged ? changed : undefined);
      engines.push(engine);
      await runConcurrently(warmup, concurrency, shortRun(engine));
      return engine;
    };
    const [firstEngine, secondEngine] = [await startServer(isChangedFirst), await startServer(!isChangedFirst)];
    const pairs: Pair[] = [];
    for (let index = 0; index < sliceCount; index++) {
      const slices = new Map<Engine, Slice>();
      for (const engine of index % 2 === 0 ? [firstEngine, secondEngine] : [secondEngine, firstEngine])
        slices.set(engine, await runSlice(engine, runs, concurrency));
      const [firstSlice, secondSlice] = [slices.get(firstEngine), slices.get(secondEngine)];
      if (firstSlice && secondSlice)
        pairs.push(isChangedFirst ? { base: secondSlice, changed: firstSlice } : { base: firstSlice, changed: secondSlice });
    }
    return pairs;
  } finally {
    for (const engine of engines) await engine.stop();
  }
}

/** Reports how much more CPU time and time the changed server needs for each run. */
export async function comparePairs(options: Options): Promise<Report> {
  const sliceCount = Math.ceil((options.repeat === 1 ? SLICES : options.repeat) / 2);
  const pairs = [...(await measurePairs(options, sliceCount, false)), ...(await measurePairs(options, sliceCount, true))];
  return {
    engine: 'everstep',
    w: 'pairs',
    slices: pairs.length,
    ...options.changed,
    cpuMsPerRun: round(median(pairs.map((pair) => pair.base.cpuMsPerRun)), 3),
    cpu: summarize(pairs.map((pair) => pair.changed.cpuMsPerRun / pair.base.cpuMsPerRun)),
    time: summarize(pairs.map((pair) => pair.changed.msPerRun / pair.base.msPerRun)),
  };
}
