/** The workloads, with the field names of the comparison with other engines. */
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@everstep/sdk';
import type { Engine } from './engine.js';
import { type Cost, cpuSeconds, type Memory, measure, median, memoryOf, rounded } from './meter.js';
import type { Measurable, Options } from './options.js';

export type Report = Record<string, unknown>;

const STEPS_PER_RUN = 5;
const MEMORY_SAMPLE_RUNS = 10_000;
/** Time for the garbage collector and the store to become idle. */
const SETTLE_MS = 3_000;

/** Calls `work` `count` times with bounded concurrency. */
export async function inFlight(count: number, concurrency: number, work: () => Promise<void>): Promise<void> {
  let started = 0;
  const lane = async (): Promise<void> => {
    while (started < count) {
      started++;
      await work();
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, lane));
}

async function repeated<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
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

async function throughput(engine: Engine, options: Options): Promise<Report> {
  const { runs = 3_000, concurrency = 64, warmup = Math.min(500, runs) } = options;
  await inFlight(warmup, concurrency, shortRun(engine));
  const all = await repeated(options.repeat, async () => {
    const cost = await measure(engine, () => inFlight(runs, concurrency, shortRun(engine)));
    return {
      runsPerS: rounded(runs / cost.seconds, 1),
      stepsPerS: rounded((runs * STEPS_PER_RUN) / cost.seconds, 0),
      s: rounded(cost.seconds),
      ...cpuOf(cost),
      cpuClient: cost.cpuClient,
      ...diskOf(cost),
    };
  });
  return {
    runs,
    concurrency,
    medianRunsPerS: median(all.map(({ runsPerS }) => runsPerS)),
    medianStepsPerS: median(all.map(({ stepsPerS }) => stepsPerS)),
    all,
  };
}

async function latency(engine: Engine, options: Options): Promise<Report> {
  const { runs = 200, warmup = 50 } = options;
  await inFlight(warmup, 1, shortRun(engine));
  const all = await repeated(options.repeat, async () => {
    const times: number[] = [];
    const cost = await measure(engine, () =>
      inFlight(runs, 1, async () => {
        const startedAt = performance.now();
        await engine.run('seq', STEPS_PER_RUN);
        times.push(performance.now() - startedAt);
      }),
    );
    times.sort((a, b) => a - b);
    const at = (index: number): number => rounded(times[index] ?? Number.NaN);
    return { p50: at(runs >> 1), p99: at(Math.floor(runs * 0.99)), max: at(runs - 1), ...diskOf(cost), ...cpuOf(cost) };
  });
  return { runs, medianP50ms: median(all.map(({ p50 }) => p50)), medianP99ms: median(all.map(({ p99 }) => p99)), all };
}

async function fanOut(engine: Engine, options: Options): Promise<Report> {
  const { runs = 20, concurrency = 4, warmup = 4 } = options;
  const steps = options.steps?.[0] ?? 100;
  await inFlight(warmup, concurrency, () => engine.run('fan', steps));
  const all = await repeated(options.repeat, async () => {
    const cost = await measure(engine, () => inFlight(runs, concurrency, () => engine.run('fan', steps)));
    return { stepsPerS: rounded((runs * steps) / cost.seconds, 0), s: rounded(cost.seconds, 3), ...cpuOf(cost) };
  });
  return { runs, steps, medianStepsPerS: median(all.map(({ stepsPerS }) => stepsPerS)), all };
}

async function longJournal(engine: Engine, options: Options): Promise<Report> {
  const report: Report = {};
  await engine.run('seq', 100);
  for (const steps of options.steps ?? [100, 1_000, 2_000, 10_000]) {
    const costs = await repeated(options.repeat, () => measure(engine, () => engine.run('seq', steps)));
    const middle = costs.sort((a, b) => a.seconds - b.seconds)[costs.length >> 1];
    if (!middle) continue;
    report[`s${steps}`] = rounded(middle.seconds, 3);
    report[`msPerStep${steps}`] = rounded((middle.seconds * 1000) / steps, 3);
    report[`cpuServer${steps}`] = middle.cpuServer;
    report[`cpuWorker${steps}`] = middle.cpuWorker;
    if (middle.cpuDatabase !== null) report[`cpuDatabase${steps}`] = middle.cpuDatabase;
  }
  return report;
}

async function backlog(engine: Engine, options: Options): Promise<Report> {
  const { runs = 5_000, concurrency = 64, warmup = 200, limitS } = options;
  await inFlight(warmup, concurrency, shortRun(engine));
  const all = await repeated(options.repeat, async () => {
    await engine.resetDone();
    const timedOut: { TIMED_OUT_done?: number } = {};
    let triggerS = Number.NaN;
    const cost = await measure(engine, async () => {
      const startedAt = performance.now();
      await inFlight(runs, concurrency, () => engine.trigger('seq', STEPS_PER_RUN));
      triggerS = (performance.now() - startedAt) / 1000;
      for (;;) {
        const done = await engine.done();
        if (done >= runs) return;
        if (performance.now() - startedAt > limitS * 1000) {
          timedOut.TIMED_OUT_done = done;
          return;
        }
        await pause(50);
      }
    });
    return {
      triggersPerS: rounded(runs / triggerS, 0),
      triggerS: rounded(triggerS),
      totalS: rounded(cost.seconds),
      runsPerSoverall: rounded(runs / cost.seconds, 1),
      ...cpuOf(cost),
      ...timedOut,
    };
  });
  const middle = [...all].sort((a, b) => a.triggersPerS - b.triggersPerS)[all.length >> 1];
  return { runs, concurrency, ...middle, ...(all.length > 1 ? { all } : {}) };
}

async function memory(engine: Engine, options: Options): Promise<Report> {
  const { runs = 100_000, concurrency = 64 } = options;
  await pause(SETTLE_MS);
  const idle = memoryOf(engine.serverPids);
  const samples: { readonly runs: number; readonly rssMB: number }[] = [];
  const startedAt = performance.now();
  for (let finished = 0; finished < runs; ) {
    const next = Math.min(MEMORY_SAMPLE_RUNS, runs - finished);
    await inFlight(next, concurrency, shortRun(engine));
    finished += next;
    samples.push({ runs: finished, rssMB: memoryOf(engine.serverPids).rssMB });
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await pause(SETTLE_MS);
  const after: Memory = memoryOf(engine.serverPids);
  return {
    runs,
    concurrency,
    s: rounded(seconds),
    runsPerS: rounded(runs / seconds, 1),
    idleRssMB: idle.rssMB,
    afterRssMB: after.rssMB,
    highestRssMB: after.hwmMB,
    workerRssMB: memoryOf([engine.workerPid]).rssMB,
    samples,
  };
}

const IDLE_S = 30;
const IDLE_COLLECT_MS = 15_000;

/** Cost of runs that only wait, and of waking all of them. */
async function waiting(engine: Engine, options: Options): Promise<Report> {
  const { runs = 100_000, concurrency = 64 } = options;
  await engine.resetDone();
  const startedAt = performance.now();
  await inFlight(runs, concurrency, () => engine.trigger('wait', 1));
  // Waits are recorded shortly after the triggers: the server is idle when it uses no CPU.
  for (let before = Number.NEGATIVE_INFINITY, now = 0; now - before > 0.1; ) {
    before = now;
    await pause(SETTLE_MS);
    now = cpuSeconds(engine.serverPids);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  // The server collects garbage once when it becomes idle.
  await pause(IDLE_COLLECT_MS);
  const idleBegin = cpuSeconds(engine.serverPids);
  await pause(IDLE_S * 1000);
  const idleCpu = (cpuSeconds(engine.serverPids) - idleBegin) / IDLE_S;
  const memoryWaiting = memoryOf(engine.serverPids);
  const notifyBegin = performance.now();
  const notified = await engine.notify('go');
  const notifyS = (performance.now() - notifyBegin) / 1000;
  while ((await engine.done()) < runs && (performance.now() - notifyBegin) / 1000 < options.limitS) await pause(50);
  return {
    runs,
    setUpS: rounded(seconds),
    idleCpuPercentOfACore: rounded(idleCpu * 100),
    waitingRssMB: memoryWaiting.rssMB,
    notified,
    notifyS: rounded(notifyS),
    notifiedPerS: rounded(notified / notifyS, 0),
    allDoneS: rounded((performance.now() - notifyBegin) / 1000),
    done: await engine.done(),
  };
}

const LIMITED: Readonly<Record<string, string>> = { 'svc-flow-control-key': 'busy', 'svc-flow-control-value': 'parallelism=64' };

/** Compares a key with a long wait list with runs without a key at the same parallelism. Each run is one delivery. */
async function limited(engine: Engine, options: Options): Promise<Report> {
  const { runs = 100_000, concurrency = 64 } = options;
  const sample = Math.min(5_000, runs);
  const one = (): Promise<void> => engine.run('seq', 1);
  await inFlight(500, concurrency, one);
  const free = await measure(engine, () => inFlight(sample, concurrency, one));
  await engine.trigger('seq', 1, LIMITED);
  await engine.flowControl('busy', 'pause');
  await inFlight(runs, concurrency, () => engine.trigger('seq', 1, LIMITED));
  const waitListSize = await engine.waitListSize('busy');
  const rssMB = memoryOf(engine.serverPids).rssMB;
  const beside = await measure(engine, () => inFlight(sample, concurrency, one));
  await engine.resetDone();
  await engine.flowControl('busy', 'resume');
  let done = 0;
  const drained = await measure(engine, async () => {
    const startedAt = performance.now();
    while (done < sample && (performance.now() - startedAt) / 1000 < options.limitS) {
      await pause(20);
      done = await engine.done();
    }
  });
  return {
    runs,
    waitListSize,
    rssMB,
    freeRunsPerS: rounded(sample / free.seconds, 1),
    besideRunsPerS: rounded(sample / beside.seconds, 1),
    limitedRunsPerS: rounded(done / drained.seconds, 1),
  };
}

/** Memory of the server for connected workers that do nothing. */
async function connected(engine: Engine, options: Options): Promise<Report> {
  const { runs: workers = 500 } = options;
  // Code and buffers that the first workers need are not counted.
  const open = (count: number) =>
    Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const worker = connect({ ...engine.connection, app: `idle-${i % 10}`, workflows: { idle: () => null }, drainOn: [] });
        await worker.connected;
        return worker;
      }),
    );
  const first = await open(Math.ceil(workers / 10));
  await pause(IDLE_COLLECT_MS);
  const before = memoryOf(engine.serverPids);
  const rest = await open(workers - first.length);
  await pause(IDLE_COLLECT_MS);
  const after = memoryOf(engine.serverPids);
  const cpu = cpuSeconds(engine.serverPids);
  await pause(IDLE_S * 1000);
  const idleCpu = (cpuSeconds(engine.serverPids) - cpu) / IDLE_S;
  await Promise.all([...first, ...rest].map((worker) => worker.close({ graceMs: 0 })));
  return {
    workers,
    beforeRssMB: before.rssMB,
    afterRssMB: after.rssMB,
    kilobytesPerWorker: rounded(((after.rssMB - before.rssMB) * 1024) / rest.length, 1),
    idleCpuPercentOfACore: rounded(idleCpu * 100),
  };
}

export const WORK: Readonly<Record<Measurable['workload'], (engine: Engine, options: Options) => Promise<Report>>> = {
  W1: throughput,
  W2: latency,
  W3: fanOut,
  W4: longJournal,
  W5: backlog,
  memory,
  waiting,
  limited,
  connected,
};
