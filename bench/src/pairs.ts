/**
 * Compares two servers: this version, and the same with other settings or another build. Both run at the same time and execute
 * short slices of W1 in turn, so that the noise of the machine affects both. The first one alternates.
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

/** Reports how much more CPU time and time the changed server needs for each run. */
export async function comparePairs(options: Options): Promise<Report> {
  const { runs = 400, concurrency = 64, warmup = 6_000, changed } = options;
  const slices = options.repeat === 1 ? SLICES : options.repeat;
  const engines: Engine[] = [];
  try {
    const base = await startEngine(options);
    engines.push(base);
    const other = await startEngine(options, changed);
    engines.push(other);
    for (const engine of engines) await inFlight(warmup, concurrency, shortRun(engine));
    const pairs: { readonly base: Slice; readonly changed: Slice }[] = [];
    for (let index = 0; index < slices; index++) {
      const results = new Map<Engine, Slice>();
      for (const engine of index % 2 === 0 ? [base, other] : [other, base])
        results.set(engine, await slice(engine, runs, concurrency));
      const [baseSlice, changedSlice] = [results.get(base), results.get(other)];
      if (baseSlice && changedSlice) pairs.push({ base: baseSlice, changed: changedSlice });
    }
    return {
      engine: 'everstep',
      w: 'pairs',
      runs,
      slices,
      ...changed,
      cpuMsPerRun: rounded(median(pairs.map((pair) => pair.base.cpuMsPerRun)), 3),
      cpu: summary(pairs.map((pair) => pair.changed.cpuMsPerRun / pair.base.cpuMsPerRun)),
      time: summary(pairs.map((pair) => pair.changed.msPerRun / pair.base.msPerRun)),
    };
  } finally {
    for (const engine of engines) await engine.stop();
  }
}
