/** Retention on a real store in memory, with a clock that a test moves. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createVirtualClock, type VirtualClock } from '../../clock/virtual-clock.js';
import { newRepair, type RepairPhase } from '../../engine/dead-letters/repair.js';
import { DEFAULT_INSTANCE_SETTINGS, type RetentionSettings } from '../../engine/runs/run.js';
import type { Log } from '../../ports/log.js';
import type { RemovalQuery, Store } from '../../ports/stores/store.js';
import { apply, creation, failure, INSTANCE, OTHER_INSTANCE, sampleRun, T0 } from '../../stores/conformance/samples.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import {
  inARow,
  ManualClock,
  noMessages,
  publicUrl,
  quiet,
  random,
  ScriptedCaller,
  SETTINGS,
  settle,
} from '../runtime.fixture.js';
import { createRuntime, type Runtime } from '../runtime.js';
import { Retention } from './retention.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** A store with two instances. */
async function openStore(t: TestContext): Promise<Store> {
  const store = await openSqliteStore({ file: ':memory:' });
  t.after(() => store.close());
  for (const instanceId of [INSTANCE, OTHER_INSTANCE]) {
    const keys = { currentSigningKey: `${instanceId}-a`, nextSigningKey: `${instanceId}-b` };
    await store.accounts.createInstance({ instanceId, region: 'eu-central-1', name: instanceId, createdAt: T0, ...keys });
  }
  return store;
}

async function keep(store: Store, rules: Partial<RetentionSettings>, instanceId = INSTANCE): Promise<void> {
  const retention = { ...DEFAULT_INSTANCE_SETTINGS.retention, ...rules };
  const settings = { ...DEFAULT_INSTANCE_SETTINGS, retention };
  await apply(store, [{ kind: 'set-instance-settings', instanceId, settings }]);
}

const after = (days: number) => ({ maxAgeMs: days * DAY_MS, maxCount: null });
const atMost = (count: number) => ({ maxAgeMs: null, maxCount: count });

type How = 'succeeded' | 'canceled' | 'dead-letter' | 'active';

/** Adds a run with its number in its id, created a second after the previous one, with the given end. */
async function addRun(store: Store, n: number, how: How = 'succeeded', instanceId = INSTANCE): Promise<void> {
  const run = sampleRun(n, { instanceId, createdAt: T0 + n * 1000 });
  const { key: runKey, createdAt: completedAt } = run;
  if (how === 'dead-letter') return apply(store, [creation(run), ...failure(run)]);
  if (how === 'active') return apply(store, [creation(run)]);
  const outcome = how === 'canceled' ? { status: how } : { status: how, result: null };
  return apply(store, [creation(run), { kind: 'end-run', runKey, outcome, completedAt }]);
}

async function statuses(store: Store, instanceId = INSTANCE): Promise<readonly string[]> {
  const page = { instanceId, filter: {}, order: 'oldest-first', after: null, horizon: null, limit: 1000 } as const;
  return (await store.listRuns(page)).items.map(({ status }) => status);
}

function retentionOf(store: Store, clock = new ManualClock(), log: Log = quiet): Retention {
  return new Retention({ store, clock, log });
}

test('removes nothing without settings of the instance', async (t) => {
  const store = await openStore(t);
  for (const [n, how] of (['succeeded', 'canceled', 'dead-letter', 'active'] as const).entries()) await addRun(store, n, how);
  const clock = new ManualClock();
  clock.move(10_000 * DAY_MS);
  await retentionOf(store, clock).sweep();
  assert.deepEqual(await statuses(store), ['succeeded', 'canceled', 'failed', 'active']);
});

test('removes runs that ended long enough ago, each state by its own rule, and no active runs', async (t) => {
  const store = await openStore(t);
  for (const [n, how] of (['succeeded', 'canceled', 'dead-letter', 'active'] as const).entries()) {
    await addRun(store, n, how);
    await addRun(store, n + 10, how, OTHER_INSTANCE);
  }
  await keep(store, { succeeded: after(1), canceled: after(2), deadLetter: after(3) });
  const clock = new ManualClock();
  const retention = retentionOf(store, clock);
  const left: (readonly string[])[] = [];
  clock.move(MINUTE_MS);
  for (let day = 0; day < 4; day++) {
    await retention.sweep();
    left.push(await statuses(store));
    clock.move(DAY_MS);
  }
  assert.deepEqual(left, [
    ['succeeded', 'canceled', 'failed', 'active'],
    ['canceled', 'failed', 'active'],
    ['failed', 'active'],
    ['active'],
  ]);
  assert.deepEqual(await statuses(store, OTHER_INSTANCE), ['succeeded', 'canceled', 'failed', 'active']);
});

test('keeps the given number of newest runs', async (t) => {
  const store = await openStore(t);
  for (let n = 0; n < 9; n++) await addRun(store, n, n % 3 === 0 ? 'canceled' : 'succeeded');
  await keep(store, { succeeded: atMost(2) });
  await retentionOf(store).sweep();
  assert.deepEqual(await statuses(store), ['canceled', 'canceled', 'canceled', 'succeeded', 'succeeded']);
});

test('sweeps at the start and then every few minutes, until it is stopped', async (t) => {
  const store = await openStore(t);
  await keep(store, { succeeded: atMost(0) });
  const clock = new ManualClock();
  const retention = retentionOf(store, clock);
  await addRun(store, 0);
  retention.start();
  await retention.settled();
  assert.deepEqual(await statuses(store), []);
  await addRun(store, 1);
  clock.move(4 * MINUTE_MS);
  await retention.settled();
  assert.deepEqual(await statuses(store), ['succeeded']);
  for (let n = 2; n < 4; n++) {
    clock.move(5 * MINUTE_MS);
    await retention.settled();
    assert.deepEqual(await statuses(store), []);
    await addRun(store, n);
  }
  await retention.stop();
  clock.move(60 * MINUTE_MS);
  await retention.settled();
  assert.deepEqual(await statuses(store), ['succeeded']);
});

test('removes a batch at a time and yields in between, then releases space the same way', async (t) => {
  const store = await openStore(t);
  for (let n = 0; n < 450; n++) await addRun(store, n);
  await keep(store, { succeeded: atMost(10) });
  let turns = 0;
  let counting = true;
  const count = () => {
    turns++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const steps: { readonly what: string; readonly turn: number }[] = [];
  const removed: number[] = [];
  let space = 3;
  const watched: Store = {
    ...store,
    async removeEndedRuns(query: RemovalQuery) {
      steps.push({ what: 'remove', turn: turns });
      removed.push(await store.removeEndedRuns(query));
      return removed.at(-1) ?? 0;
    },
    async releaseSpace() {
      steps.push({ what: 'release', turn: turns });
      return space-- > 0;
    },
  };
  await retentionOf(watched).sweep();
  counting = false;
  assert.deepEqual([removed.reduce((sum, n) => sum + n, 0), removed.at(-1)], [440, 0]);
  assert.equal(steps.filter(({ what }) => what === 'release').length, 4);
  for (const [at, { what, turn }] of steps.entries()) {
    const next = steps[at + 1];
    if (next?.what !== what) continue;
    assert.ok(next.turn - turn >= 20, `${next.turn - turn} turns after ${what} ${at}`);
  }
});

test('logs a failure, continues with other states and instances, and tries again at the next sweep', async (t) => {
  const store = await openStore(t);
  await addRun(store, 0, 'canceled');
  await addRun(store, 1);
  await addRun(store, 2, 'succeeded', OTHER_INSTANCE);
  await keep(store, { canceled: atMost(0), succeeded: atMost(0) });
  await keep(store, { succeeded: atMost(0) }, OTHER_INSTANCE);
  let isFaulty = true;
  const faulty: Store = {
    ...store,
    async removeStagedSteps() {
      if (isFaulty) throw new Error('a server is down');
      return store.removeStagedSteps();
    },
    async removeEndedRuns(query) {
      if (isFaulty && query.state === 'canceled' && query.instanceId === INSTANCE) throw new Error('the disk is full');
      return store.removeEndedRuns(query);
    },
  };
  const errors: string[] = [];
  const log: Log = { ...quiet, error: ({ instanceId = 'all', error }) => errors.push(`${instanceId}: ${error}`) };
  const clock = new ManualClock();
  const retention = retentionOf(faulty, clock, log);
  retention.start();
  await retention.settled();
  assert.deepEqual(errors, ['all: Error: a server is down', `${INSTANCE}: Error: the disk is full`]);
  assert.deepEqual([await statuses(store), await statuses(store, OTHER_INSTANCE)], [['canceled'], []]);
  isFaulty = false;
  clock.move(5 * MINUTE_MS);
  await retention.settled();
  assert.deepEqual([errors.length, await statuses(store)], [2, []]);
  await retention.stop();
});

/** A clock on which removing a run takes a given time. It records its timers and fires them immediately. */
class WorkingClock extends ManualClock {
  readonly pausesMs: number[] = [];
  override setTimer(at: number, fire: () => void): () => void {
    const pauseMs = at - this.now();
    if (pauseMs >= 5 * MINUTE_MS) return () => {};
    this.pausesMs.push(pauseMs);
    this.move(pauseMs);
    setImmediate(fire);
    return () => {};
  }
}

/**
 * Sweeps 600 runs that take `msPerRun` each, in addition to the time of each step. Returns the sizes and times of steps, and
 * the pauses.
 */
async function sweepSlowly(
  t: TestContext,
  { msPerRun, msPerStep, moreMsAfter }: { msPerRun: number; msPerStep: number; moreMsAfter?: { step: number; ms: number } },
) {
  const store = await openStore(t);
  for (let n = 0; n < 600; n++) await addRun(store, n);
  await keep(store, { succeeded: atMost(0) });
  const clock = new WorkingClock();
  const [sizes, tookMs]: [number[], number[]] = [[], []];
  const slow: Store = {
    ...store,
    async removeEndedRuns(query) {
      const count = await store.removeEndedRuns(query);
      if (count === 0) return 0;
      sizes.push(count);
      tookMs.push(count * msPerRun + msPerStep);
      clock.move(count * msPerRun + msPerStep + (sizes.length === moreMsAfter?.step ? moreMsAfter.ms : 0));
      return count;
    },
  };
  const retention = new Retention({ store: slow, clock, log: quiet });
  retention.start();
  await retention.settled();
  await retention.stop();
  assert.deepEqual(await statuses(store), []);
  return { sizes, tookMs, pausesMs: clock.pausesMs };
}

test('a step takes about 10 ms whatever a run costs, with a pause four times as long', async (t) => {
  for (const msPerRun of [0.1, 0.25, 0.5, 1]) {
    const { sizes, tookMs, pausesMs } = await sweepSlowly(t, { msPerRun, msPerStep: 1 });
    assert.ok(Math.max(...tookMs) <= 12, `a step took ${Math.max(...tookMs)} ms at ${msPerRun} ms a run`);
    assert.ok(Math.max(...sizes) * msPerRun >= 8, `a step removed ${Math.max(...sizes)} at ${msPerRun} ms a run`);
    for (const [at, pauseMs] of pausesMs.entries()) {
      const expectedMs = 4 * (tookMs[at] ?? 0);
      assert.ok(Math.abs(pauseMs - expectedMs) < 0.01, `${pauseMs} ms after a step of ${tookMs[at]} ms`);
    }
    assert.equal(pausesMs.length, sizes.length);
  }
});

test('a step removes at most 200 runs if removal is cheap, and at least 10 with limited pauses if it is slow', async (t) => {
  const quick = await sweepSlowly(t, { msPerRun: 0, msPerStep: 0 });
  assert.deepEqual([Math.max(...quick.sizes), quick.pausesMs], [200, []]);
  const slow = await sweepSlowly(t, { msPerRun: 10, msPerStep: 50 });
  assert.deepEqual([Math.min(...slow.sizes), Math.max(...slow.sizes)], [10, 10]);
  assert.deepEqual([...new Set(slow.pausesMs)], [250]);
});

test('a sweep that is in progress when the next one is due pauses only as long as its steps take', async (t) => {
  const { pausesMs } = await sweepSlowly(t, { msPerRun: 0, msPerStep: 40, moreMsAfter: { step: 3, ms: 5 * MINUTE_MS } });
  assert.deepEqual(pausesMs.slice(0, 2), [160, 160]);
  assert.deepEqual([...new Set(pausesMs.slice(3))], [40]);
});

test('a stop waits for the step in progress', async (t) => {
  const store = await openStore(t);
  for (let n = 0; n < 450; n++) await addRun(store, n);
  await keep(store, { succeeded: atMost(0) });
  let steps = 0;
  let stopping: Promise<void> | undefined;
  const watched: Store = {
    ...store,
    async removeEndedRuns(query) {
      steps++;
      stopping ??= retention.stop();
      return store.removeEndedRuns(query);
    },
  };
  const retention = retentionOf(watched);
  retention.start();
  await retention.settled();
  await stopping;
  assert.equal(steps, 1);
  assert.equal((await statuses(store)).length, 440);
});

test('a stop ends the pause after a step', async (t) => {
  const store = await openStore(t);
  for (let n = 0; n < 30; n++) await addRun(store, n);
  await keep(store, { succeeded: atMost(0) });
  const clock = new ManualClock();
  const slow: Store = {
    ...store,
    async removeEndedRuns(query) {
      clock.move(1_000);
      return store.removeEndedRuns(query);
    },
  };
  const retention = retentionOf(slow, clock);
  retention.start();
  for (let turn = 0; turn < 4; turn++) await settle();
  assert.equal(retention.isIdle, false);
  await retention.stop();
  assert.equal((await statuses(store)).length, 20);
});

test('only one sweep is in progress at a time', async (t) => {
  const store = await openStore(t);
  let [asked, atOnce, max] = [0, 0, 0];
  const watched: Store = {
    ...store,
    async instanceSettings(query) {
      asked++;
      max = Math.max(max, ++atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce--;
      return store.instanceSettings(query);
    },
  };
  const retention = retentionOf(watched);
  await Promise.all([retention.sweep(), retention.sweep(), retention.sweep()]);
  assert.deepEqual([asked, max], [2, 1]);
});

test('removes what is too old after a move of a virtual clock, even if the store is slow', async (t) => {
  const quick = await openStore(t);
  const store: Store = {
    ...quick,
    async instanceSettings(query) {
      await settle();
      return quick.instanceSettings(query);
    },
  };
  await keep(store, { succeeded: after(7) });
  const base = new ManualClock();
  const clock: VirtualClock = createVirtualClock({ base, quiet: () => runtime.idle(), maxInstants: 1000, quietTimeoutMs: 1000 });
  const options = { store, clock, upkeepClock: clock.upkeep, random, messageSender: noMessages, log: quiet, publicUrl };
  const runtime: Runtime = createRuntime({ ...options, stepCaller: new ScriptedCaller(inARow(1)) });
  await runtime.start();
  await runtime.runs.trigger({
    instanceId: INSTANCE,
    dialect: 'native',
    workflowUrl: 'http://app/flow',
    payload: { body: new Uint8Array(), contentType: null, forwardHeaders: {} },
    settings: SETTINGS,
    callerIp: '127.0.0.1',
    workflowRunId: null,
    notBefore: null,
    deduplicationId: null,
  });
  await clock.move({ byMs: 6 * DAY_MS });
  assert.deepEqual(await statuses(store), ['succeeded']);
  const moved = await clock.move({ byMs: 2 * DAY_MS });
  assert.equal(moved.kind, 'moved');
  assert.deepEqual(await statuses(store), []);
  await runtime.stop({ graceMs: 10 });
});

test('the bounds of a plan apply if the instance has set no retention or a longer one, but not if it has set a shorter one', async (t) => {
  const store = await openStore(t);
  const clock = new ManualClock();
  for (const [n, how] of (['succeeded', 'canceled', 'dead-letter', 'active'] as const).entries()) await addRun(store, n, how);
  await addRun(store, 9, 'succeeded', OTHER_INSTANCE);
  const bounds = (instanceId: string) =>
    instanceId === INSTANCE ? { runsMs: 2 * DAY_MS, deadLettersMs: 4 * DAY_MS } : { runsMs: null, deadLettersMs: null };
  const retention = new Retention({ store, clock, log: quiet, bounds });
  await keep(store, { succeeded: after(1), canceled: after(7) });
  const left = async (days: number) => {
    clock.move(days * DAY_MS + MINUTE_MS);
    await retention.sweep();
    return [...(await statuses(store))].sort();
  };
  assert.deepEqual(await left(1), ['active', 'canceled', 'failed']);
  assert.deepEqual(await left(1), ['active', 'failed']);
  assert.deepEqual(await left(2), ['active']);
  assert.deepEqual(await statuses(store, OTHER_INSTANCE), ['succeeded']);
});

test('does nothing while another node sweeps, until the next time', async (t) => {
  const store = await openStore(t);
  await addRun(store, 1);
  await keep(store, { succeeded: after(1) });
  const clock = new ManualClock();
  clock.move(2 * DAY_MS);
  let busy = true;
  const tryExclusively = async (work: () => Promise<void>) => {
    if (busy) return false;
    await work();
    return true;
  };
  const retention = new Retention({ store, clock, log: quiet, tryExclusively });
  await retention.sweep();
  assert.deepEqual(await statuses(store), ['succeeded']);
  busy = false;
  await retention.sweep();
  assert.deepEqual(await statuses(store), []);
});

test('keeps repairs as long as dead letters and at least thirty days, and plans for thirty days', async (t) => {
  const store = await openStore(t);
  const add = async (repairId: string, phase: RepairPhase) => {
    const repair = newRepair({ repairId, instanceId: INSTANCE, action: 'resume', createdAt: T0, createdBy: null });
    const endedAt = phase === 'done' ? T0 : null;
    const rest = { filter: {}, overrides: {}, freezing: null, wakeAt: null, version: 0 };
    await store.repairs.create({ record: { ...rest, repair: { ...repair, phase, endedAt } }, driver: null });
  };
  for (const phase of ['done', 'planned', 'paused'] as const) await add(`rep_${phase}`, phase);
  const left = async () => (await store.repairs.list({ instanceId: INSTANCE, after: null, limit: 9 })).items.length;
  const clock = new ManualClock();
  const sweepAfter = async (days: number) => {
    clock.move(T0 + days * DAY_MS - clock.now());
    await retentionOf(store, clock).sweep();
  };
  await sweepAfter(29);
  assert.equal(await left(), 3);
  await sweepAfter(31);
  assert.equal(await left(), 2);
  await keep(store, { deadLetter: after(1) });
  await sweepAfter(31);
  const [paused] = (await store.repairs.list({ instanceId: INSTANCE, after: null, limit: 9 })).items;
  assert.deepEqual([await left(), paused?.repair.phase], [1, 'paused']);
  await add('rep_young', 'done');
  await keep(store, { deadLetter: after(60) });
  await sweepAfter(59);
  assert.equal(await left(), 2);
  await sweepAfter(61);
  assert.equal(await left(), 1);
});
