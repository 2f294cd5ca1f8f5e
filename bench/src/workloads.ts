/** The workloads. Their reports have the same field names as those of other engines in the comparison. */
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@everstep/sdk';
import type { Engine } from './engine.js';
import { type Cost, cpuSeconds, type Memory, measure, median, memoryOf, round } from './meter.js';
import type { Measurable, Options } from './options.js';

export type Report = Record<string, unknown>;

const STEPS_PER_RUN = 5;
const MEMORY_SAMPLE_RUNS = 10_000;
/** Time for the garbage collector and the store to become idle. */
const SETTLE_MS = 3_000;

/** Calls `work` `count` times with bounded concurrency. */
export async function runConcurrently(count: number, concurrency: number, work: () => Promise<void>): Promise<void> {
  let startedCount = 0;
  const worker = async (): Promise<void> => {
    while (startedCount < count) {
      startedCount++;
      await work();
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, worker));
}

async function repeat<Result>(times: number, work: () => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let i = 0; i < times; i++) results.push(await work());
  return results;
}

const cpuOf = ({ cpuServer, cpuWorker, cpuDatabase }: Cost) => ({
  cpuServer,
  cpuWorker,
  ...(cpuDatabase === null ? {} : { cpuDatabase }),
});
const diskOf = ({ flushes, writtenMB }: Cost) => ({ flushes, writtenMB });
export const shortRun = (engine: Engine) => (): Promise<void> => engine.run('seq', STEPS_PER_RUN);

async function measureThroughput(engine: Engine, options: Options): Promise<Report> {
  const { runs = 3_000, concurrency = 64, warmup = Math.min(500, runs) } = options;
  await runConcurrently(warmup, concurrency, shortRun(engine));
  const samples = await repeat(options.repeat, async () => {
    const cost = await measure(engine, () => runConcurrently(runs, concurrency, shortRun(engine)));
    return {
      runsPerS: round(runs / cost.seconds, 1),
      stepsPerS: round((runs * STEPS_PER_RUN) / cost.seconds, 0),
      s: round(cost.seconds),
      ...cpuOf(cost),
      cpuClient: cost.cpuClient,
      ...diskOf(cost),
    };
  });
  return {
    runs,
    concurrency,
    medianRunsPerS: median(samples.map(({ runsPerS }) => runsPerS)),
    medianStepsPerS: median(samples.map(({ stepsPerS }) => stepsPerS)),
    all: samples,
  };
}

async function measureLatency(engine: Engine, options: Options): Promise<Report> {
  const { runs = 200, warmup = 50 } = options;
  await runConcurrently(warmup, 1, shortRun(engine));
  const samples = await repeat(options.repeat, async () => {
    const durationsMs: number[] = [];
    const cost = await measure(engine, () =>
      runConcurrently(runs, 1, async () => {
        const startedAt = performance.now();
        await engine.run('seq', STEPS_PER_RUN);
        durationsMs.push(performance.now() - startedAt);
      }),
    );
    durationsMs.sort((a, b) => a - b);
    const durationAt = (index: number): number => round(durationsMs[index] ?? Number.NaN);
    return {
      p50: durationAt(runs >> 1),
      p99: durationAt(Math.floor(runs * 0.99)),
      max: durationAt(runs - 1),
      ...diskOf(cost),
      ...cpuOf(cost),
    };
  });
  return {
    runs,
    medianP50ms: median(samples.map(({ p50 }) => p50)),
    medianP99ms: median(samples.map(({ p99 }) => p99)),
    all: samples,
  };
}

async function measureFanOut(engine: Engine, options: Options): Promise<Report> {
  const { runs = 20, concurrency = 4, warmup = 4 } = options;
  const steps = options.steps?.[0] ?? 100;
  await runConcurrently(warmup, concurrency, () => engine.run('fan', steps));
  const samples = await repeat(options.repeat, async () => {
    const cost = await measure(engine, () => runConcurrently(runs, concurrency, () => engine.run('fan', steps)));
    return { stepsPerS: round((runs * steps) / cost.seconds, 0), s: round(cost.seconds, 3), ...cpuOf(cost) };
  });
  return { runs, steps, medianStepsPerS: median(samples.map(({ stepsPerS }) => stepsPerS)), all: samples };
}

async function measureLongJournal(engine: Engine, options: Options): Promise<Report> {
  const report: Report = {};
  await engine.run('seq', 100);
  for (const steps of options.steps ?? [100, 1_000, 2_000, 10_000]) {
    const costs = await repeat(options.repeat, () => measure(engine, () => engine.run('seq', steps)));
    const medianCost = costs.sort((a, b) => a.seconds - b.seconds)[costs.length >> 1];
    if (!medianCost) continue;
    report[`s${steps}`] = round(medianCost.seconds, 3);
    report[`msPerStep${steps}`] = round((medianCost.seconds * 1000) / steps, 3);
    report[`cpuServer${steps}`] = medianCost.cpuServer;
    report[`cpuWorker${steps}`] = medianCost.cpuWorker;
    if (medianCost.cpuDatabase !== null) report[`cpuDatabase${steps}`] = medianCost.cpuDatabase;
  }
  return report;
}

async function measureBacklog(engine: Engine, options: Options): Promise<Report> {
  const { runs = 5_000, concurrency = 64, warmup = 200, limitS } = options;
  await runConcurrently(warmup, concurrency, shortRun(engine));
  const samples = await repeat(options.repeat, async () => {
    await engine.resetFinishedRuns();
    const timedOut: { TIMED_OUT_done?: number } = {};
    let triggerS = Number.NaN;
    const cost = await measure(engine, async () => {
      const startedAt = performance.now();
      await runConcurrently(runs, concurrency, () => engine.trigger('seq', STEPS_PER_RUN));
      triggerS = (performance.now() - startedAt) / 1000;
      for (;;) {
        const finishedCount = await engine.finishedRuns();
        if (finishedCount >= runs) return;
        if (performance.now() - startedAt > limitS * 1000) {
          timedOut.TIMED_OUT_done = finishedCount;
          return;
        }
        await pause(50);
      }
    });
    return {
      triggersPerS: round(runs / triggerS, 0),
      triggerS: round(triggerS),
      totalS: round(cost.seconds),
      runsPerSoverall: round(runs / cost.seconds, 1),
      ...cpuOf(cost),
      ...timedOut,
    };
  });
  const medianSample = [...samples].sort((a, b) => a.triggersPerS - b.triggersPerS)[samples.length >> 1];
  return { runs, concurrency, ...medianSample, ...(samples.length > 1 ? { all: samples } : {}) };
}

async function measureMemory(engine: Engine, options: Options): Promise<Report> {
  const { runs = 100_000, concurrency = 64 } = options;
  await pause(SETTLE_MS);
  const idleMemory = memoryOf(engine.serverPids);
  const samples: { readonly runs: number; readonly rssMB: number }[] = [];
  const startedAt = performance.now();
  for (let finishedCount = 0; finishedCount < runs; ) {
    const batchSize = Math.min(MEMORY_SAMPLE_RUNS, runs - finishedCount);
    await runConcurrently(batchSize, concurrency, shortRun(engine));
    finishedCount += batchSize;
    samples.push({ runs: finishedCount, rssMB: memoryOf(engine.serverPids).rssMB });
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await pause(SETTLE_MS);
  const finalMemory: Memory = memoryOf(engine.serverPids);
  return {
    runs,
    concurrency,
    s: round(seconds),
    runsPerS: round(runs / seconds, 1),
    idleRssMB: idleMemory.rssMB,
    afterRssMB: finalMemory.rssMB,
    highestRssMB: finalMemory.hwmMB,
    workerRssMB: memoryOf([engine.workerPid]).rssMB,
    samples,
  };
}

const IDLE_S = 30;
/** Time after which an idle server has collected its garbage. */
const IDLE_COLLECT_MS = 15_000;

/** Measures the cost of runs that only wait, and of notifying all of them. */
async function measureWaiting(engine: Engine, options: Options): Promise<Report> {
  const { runs = 100_000, concurrency = 64 } = options;
  await engine.resetFinishedRuns();
  const startedAt = performance.now();
  await runConcurrently(runs, concurrency, () => engine.trigger('wait', 1));
  // Waits are recorded shortly after the triggers. When the server uses no CPU, all of them are recorded.
  for (let lastCpu = Number.NEGATIVE_INFINITY, cpu = 0; cpu - lastCpu > 0.1; ) {
    lastCpu = cpu;
    await pause(SETTLE_MS);
    cpu = cpuSeconds(engine.serverPids);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  // The server collects garbage once when it becomes idle.
  await pause(IDLE_COLLECT_MS);
  const idleCpuStart = cpuSeconds(engine.serverPids);
  await pause(IDLE_S * 1000);
  const idleCpu = (cpuSeconds(engine.serverPids) - idleCpuStart) / IDLE_S;
  const waitingMemory = memoryOf(engine.serverPids);
  const notifyStartedAt = performance.now();
  const notifiedCount = await engine.notify('go');
  const notifyS = (performance.now() - notifyStartedAt) / 1000;
  while ((await engine.finishedRuns()) < runs && (performance.now() - notifyStartedAt) / 1000 < options.limitS) await pause(50);
  return {
    runs,
    setUpS: round(seconds),
    idleCpuPercentOfACore: round(idleCpu * 100),
    waitingRssMB: waitingMemory.rssMB,
    notified: notifiedCount,
    notifyS: round(notifyS),
    notifiedPerS: round(notifiedCount / notifyS, 0),
    allDoneS: round((performance.now() - notifyStartedAt) / 1000),
    done: await engine.finishedRuns(),
  };
}

const LIMITED_HEADERS: Readonly<Record<string, string>> = {
  'svc-flow-control-key': 'busy',
  'svc-flow-control-value': 'parallelism=64',
};

/** Compares a key with a long wait list with runs without a key at the same parallelism. Each run is one delivery. */
async function measureLimited(engine: Engine, options: Options): Promise<Report> {
  const { runs = 100_000, concurrency = 64 } = options;
  const sampleRuns = Math.min(5_000, runs);
  const runOneStep = (): Promise<void> => engine.run('seq', 1);
  await runConcurrently(500, concurrency, runOneStep);
  const unlimitedCost = await measure(engine, () => runConcurrently(sampleRuns, concurrency, runOneStep));
  await engine.trigger('seq', 1, LIMITED_HEADERS);
  await engine.flowControl('busy', 'pause');
  await runConcurrently(runs, concurrency, () => engine.trigger('seq', 1, LIMITED_HEADERS));
  const waitListSize = await engine.waitListSize('busy');
  const rssMB = memoryOf(engine.serverPids).rssMB;
  const besideCost = await measure(engine, () => runConcurrently(sampleRuns, concurrency, runOneStep));
  await engine.resetFinishedRuns();
  await engine.flowControl('busy', 'resume');
  let finishedCount = 0;
  const drainCost = await measure(engine, async () => {
    const startedAt = performance.now();
    while (finishedCount < sampleRuns && (performance.now() - startedAt) / 1000 < options.limitS) {
      await pause(20);
      finishedCount = await engine.finishedRuns();
    }
  });
  return {
    runs,
    waitListSize,
    rssMB,
    freeRunsPerS: round(sampleRuns / unlimitedCost.seconds, 1),
    besideRunsPerS: round(sampleRuns / besideCost.seconds, 1),
    limitedRunsPerS: round(finishedCount / drainCost.seconds, 1),
  };
}

/** Measures the memory of the server for connected workers that do nothing. */
async function measureConnected(engine: Engine, options: Options): Promise<Report> {
  const { runs: workers = 500 } = options;
  // The first workers are not counted, because they also load code and buffers.
  const connectWorkers = (count: number) =>
    Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const worker = connect({ ...engine.connection, app: `idle-${i % 10}`, workflows: { idle: () => null }, drainOn: [] });
        await worker.connected;
        return worker;
      }),
    );
  const firstWorkers = await connectWorkers(Math.ceil(workers / 10));
  await pause(IDLE_COLLECT_MS);
  const memoryBefore = memoryOf(engine.serverPids);
  const otherWorkers = await connectWorkers(workers - firstWorkers.length);
  await pause(IDLE_COLLECT_MS);
  const memoryAfter = memoryOf(engine.serverPids);
  const idleCpuStart = cpuSeconds(engine.serverPids);
  await pause(IDLE_S * 1000);
  const idleCpu = (cpuSeconds(engine.serverPids) - idleCpuStart) / IDLE_S;
  await Promise.all([...firstWorkers, ...otherWorkers].map((worker) => worker.close({ graceMs: 0 })));
  return {
    workers,
    beforeRssMB: memoryBefore.rssMB,
    afterRssMB: memoryAfter.rssMB,
    kilobytesPerWorker: round(((memoryAfter.rssMB - memoryBefore.rssMB) * 1024) / otherWorkers.length, 1),
    idleCpuPercentOfACore: round(idleCpu * 100),
  };
}

export const WORKLOAD_FUNCTIONS: Readonly<Record<Measurable['workload'], (engine: Engine, options: Options) => Promise<Report>>> =
  {
    W1: measureThroughput,
    W2: measureLatency,
    W3: measureFanOut,
    W4: measureLongJournal,
    W5: measureBacklog,
    memory: measureMemory,
    waiting: measureWaiting,
    limited: measureLimited,
    connected: measureConnected,
  };
