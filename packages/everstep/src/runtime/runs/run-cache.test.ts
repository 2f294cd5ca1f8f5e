import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide } from '../../engine/runs/decide.js';
import type { Run } from '../../engine/runs/run.js';
import { startRun } from '../../engine/runs/start.js';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { type CachedRun, RunCache } from './run-cache.js';
import { weightOf } from './run-weight.js';

const PAYLOAD = { body: new Uint8Array(), contentType: null, forwardHeaders: {} };
let made = 0;
const newRun = (instanceId = 'qi_1') =>
  startRun(
    {
      instanceId,
      dialect: 'native',
      workflowUrl: 'http://app/flow',
      payload: PAYLOAD,
      settings: {
        maxRetries: 0,
        retryDelay: null,
        deliveryTimeoutMs: 1000,
        labels: [],
        flowControl: null,
        failureCallback: null,
      },
      callerIp: '127.0.0.1',
      workflowRunId: null,
      notBefore: null,
      deduplicationId: null,
    },
    { now: 1_800_000_000_000 + made++, random: { bytes: (count) => new Uint8Array(count) }, publicUrl: '' },
  ).run;

const CLOCK = { endOfTurn: (fire: () => void) => void setImmediate(fire) };
const LIMITS = { maxRuns: 100, maxBytes: 1_000_000 };

test('runs with a delivery in flight are kept, however many there are, and others are not', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const cache = new RunCache(store, CLOCK, LIMITS);
  const busy = Array.from({ length: 80 }, () => cache.add(newRun(), PAYLOAD));
  for (const entry of busy) entry.deliveries = 1;
  for (let i = 0; i < 1000; i++) cache.add(newRun(), PAYLOAD);
  assert.ok(cache.size <= 200, `${cache.size} runs are kept`);
  assert.ok(busy.every((entry) => cache.peek(entry.run.key) === entry));
  await store.close();
});

test('a state that is older than that of the store is dropped, even while it is being read', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const run = newRun();
  let version = 3;
  const reads: (() => void)[] = [];
  const slow = {
    ...store,
    async loadRun() {
      const read = { ...run, version };
      await new Promise<void>((resolve) => reads.push(resolve));
      return read;
    },
    loadPayload: async () => PAYLOAD,
  };
  const cache = new RunCache(slow, CLOCK, LIMITS);
  const early = cache.load(run.key);
  // Another process decides on the run after it was read here.
  version = 4;
  cache.dropOlder(run.key, 4);
  const late = cache.load(run.key);
  while (reads.length > 0) reads.shift()?.();
  const [first, second] = await Promise.all([early, late]);
  assert.equal(first?.run.version, 4, 'an earlier caller gets the new state as well');
  assert.equal(second, first);
  cache.dropOlder(run.key, 4);
  assert.equal(cache.peek(run.key), first, 'it is the latest state');
  cache.dropOlder(run.key, 5);
  assert.equal(cache.peek(run.key), undefined);
  await store.close();
});

const random = { bytes: (count: number) => new Uint8Array(count).fill(made++) };

/** Records an event before the run waits for it. */
function keepEvent(cache: RunCache, entry: CachedRun, eventId: string, bytes: number): void {
  const before: Run = entry.run;
  const content = { kind: 'data', body: { encoding: 'utf8', data: 'x'.repeat(bytes) } } as const;
  const event = { eventKey: `${eventId} ${made++}`, eventId, content, receivedAt: 0 };
  const decision = decide(before, { kind: 'event-received', event }, { now: 1_800_000_000_000, random, publicUrl: '' });
  entry.run = decision.run;
  entry.durableRun = decision.run;
  cache.stateChanged(entry, before, decision.writes);
}

test('runs with many bytes are removed, those of the account with the most bytes first', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const cache = new RunCache(store, CLOCK, LIMITS, ownersOf('hog1', 'quiet1'));
  const quiet = Array.from({ length: 20 }, () => cache.add(newRun('quiet1'), PAYLOAD));
  for (const entry of quiet) keepEvent(cache, entry, 'small', 1_000);
  const hogs = Array.from({ length: 20 }, () => cache.add(newRun('hog1'), PAYLOAD));
  for (const entry of hogs) for (let i = 0; i < 4; i++) keepEvent(cache, entry, 'large', 100_000);
  assert.ok(cache.weight <= LIMITS.maxBytes + 4 * 400_000, `${cache.weight} bytes`);
  assert.ok(quiet.every((entry) => cache.peek(entry.run.key) === entry));
  const kept = hogs.filter((entry) => cache.peek(entry.run.key) === entry);
  assert.ok(kept.length <= 4 && kept.includes(hogs.at(-1) ?? assert.fail()), `${kept.length} are kept`);
  await store.close();
});

test('if there are too many runs, those of the account with the most runs are removed', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const cache = new RunCache(store, CLOCK, LIMITS, ownersOf('hog1', 'quiet1'));
  const quiet = Array.from({ length: 20 }, () => cache.add(newRun('quiet1'), PAYLOAD));
  for (let i = 0; i < 1_000; i++) cache.add(newRun('hog1'), PAYLOAD);
  assert.equal(cache.size, 100);
  assert.ok(quiet.every((entry) => cache.peek(entry.run.key) === entry));
  await store.close();
});

test('the weight of a run changes with every decision on it', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const cache = new RunCache(store, CLOCK, LIMITS);
  const entry = cache.add(newRun(), PAYLOAD);
  for (const bytes of [10, 1_000, 100]) {
    keepEvent(cache, entry, 'paid', bytes);
    assert.equal(entry.weight, weightOf(entry.run));
  }
  const before = entry.run;
  const decision = decide(before, { kind: 'cancel' }, { now: 1_800_000_000_000, random, publicUrl: '' });
  entry.run = decision.run;
  cache.stateChanged(entry, before, decision.writes);
  assert.deepEqual([entry.weight, cache.weight], [weightOf(entry.run), entry.weight]);
  cache.drop(entry.run.key);
  assert.deepEqual([cache.weight, cache.size], [0, 0]);
  await store.close();
});

test('a run that was just read is not removed, however full the cache is', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const cache = new RunCache(store, CLOCK, LIMITS);
  const busy = Array.from({ length: 5 }, () => cache.add(newRun(), PAYLOAD));
  for (const entry of busy) {
    entry.deliveries = 1;
    for (let i = 0; i < 3; i++) keepEvent(cache, entry, 'large', 100_000);
  }
  assert.ok(cache.weight > LIMITS.maxBytes);
  const entry = cache.add(newRun(), PAYLOAD);
  assert.equal(cache.peek(entry.run.key), entry);
  await store.close();
});

test('decisions on many runs of a small account end, although the cache is full of runs of other accounts', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const runs = Array.from({ length: 20 }, () => newRun('small1'));
  const stored = new Map(runs.map((run) => [run.key, run]));
  const reading = {
    ...store,
    loadRun: async ({ runKey }: { readonly runKey: string }) => stored.get(runKey) ?? null,
    loadPayload: async () => PAYLOAD,
  };
  const names = Array.from({ length: 20 }, (_, index) => `other${index}x1`);
  const cache = new RunCache(reading, CLOCK, LIMITS, ownersOf('small1', ...names));
  // Each account has an equal part of the cache, and all runs of the others are in use.
  for (const name of names) for (let run = 0; run < 5; run++) cache.add(newRun(name), PAYLOAD).deliveries = 1;
  let reads = 0;
  const decideOn = async (runKey: string, index: number): Promise<boolean> => {
    // The readers are at different points, so that between reading a run and deciding on it, others read theirs.
    for (let hop = 0; hop < index % 5; hop++) await Promise.resolve();
    for (;;) {
      if (++reads > 10_000) return false;
      const entry = await cache.load(runKey);
      if (entry === null || cache.peek(runKey) !== entry) continue;
      // The decision is not durable before the end of the turn.
      entry.uncommitted++;
      return true;
    }
  };
  const decided = await Promise.all(runs.map(({ key }, index) => decideOn(key, index)));
  assert.ok(decided.every(Boolean), `not decided after ${reads} reads`);
  assert.equal(reads, runs.length);
  for (const { key } of runs) (cache.peek(key) ?? assert.fail()).uncommitted = 0;
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(cache.size <= LIMITS.maxRuns + 4, `${cache.size} runs are kept after the turn`);
  await store.close();
});
