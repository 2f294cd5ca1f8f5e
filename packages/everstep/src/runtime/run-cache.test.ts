import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRun } from '../engine/start.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { RunCache } from './run-cache.js';

const PAYLOAD = { body: new Uint8Array(), contentType: null, forwardHeaders: {} };
let made = 0;
const newRun = () =>
  startRun(
    {
      instanceId: 'qi_1',
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

test('runs with a delivery under way are kept, however many they are, and do not keep the others', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const cache = new RunCache(store, 100);
  const busy = Array.from({ length: 80 }, () => cache.add(newRun(), PAYLOAD));
  for (const entry of busy) entry.deliveries = 1;
  for (let i = 0; i < 1000; i++) cache.add(newRun(), PAYLOAD);
  assert.ok(cache.size <= 200, `${cache.size} runs are kept`);
  assert.ok(busy.every((entry) => cache.peek(entry.run.key) === entry));
  await store.close();
});

test('a state that is older than what the store has is let go, and so is one that was being read', async () => {
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
  const cache = new RunCache(slow, 100);
  const early = cache.load(run.key);
  // Another process decides on the run, after it was read here.
  version = 4;
  cache.atLeast(run.key, 4);
  const late = cache.load(run.key);
  while (reads.length > 0) reads.shift()?.();
  const [first, second] = await Promise.all([early, late]);
  assert.equal(first?.run.version, 4, 'who asked before gets the new one, too');
  assert.equal(second, first);
  cache.atLeast(run.key, 4);
  assert.equal(cache.peek(run.key), first, 'it is as new');
  cache.atLeast(run.key, 5);
  assert.equal(cache.peek(run.key), undefined);
  await store.close();
});
