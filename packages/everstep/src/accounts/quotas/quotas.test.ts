/** Tests quotas for storage and active runs on a real in-memory store in simulated time. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { creation, sampleRun } from '../../stores/conformance/samples.js';
import { createLimits } from '../plans/limits.js';
import { loadPlans } from '../plans/plans.js';
import { INSTANCE, NOON, OTHER_OWNER, OWNER, openSpending } from '../spending.fixture.js';

const SECOND = 'qi_2';
const PLANS = JSON.stringify({
  plans: [
    { name: 'default', maxStoredBytes: 3_000, maxActiveRuns: 3 },
    { name: 'large', maxStoredBytes: 5_000, maxActiveRuns: 4 },
    { name: 'endless' },
    { name: 'standard', apiCallsPerSecond: 200, maxStoredBytes: 3_000 },
  ],
});

/** Opens an account with two instances. */
async function open(t: TestContext, documents = 0) {
  const harness = await openSpending(t);
  const { store } = harness;
  const keys = { currentSigningKey: 'a', nextSigningKey: 'b' };
  await store.accounts.createInstance({
    instanceId: SECOND,
    region: 'eu-central-1',
    name: 'second',
    createdAt: NOON,
    accountId: OWNER,
    ...keys,
  });
  const read = loadPlans(PLANS);
  assert.ok(read.ok);
  const { accounts } = store;
  const limits = await createLimits({
    accounts,
    plans: read.plans,
    now: () => harness.at,
    documentBytes: async (accountId) => (accountId === OWNER ? documents : 0),
  });
  let runs = 0;
  /** Starts runs with payloads of 1,000 bytes each, and clears the cache. */
  async function start(instanceId: string, count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const payload = { body: new Uint8Array(1_000 - 512 - 2), contentType: null, forwardHeaders: {} };
      await store.commit([{ guards: [], writes: [creation(sampleRun(++runs, { instanceId }), payload)] }]);
    }
    harness.at += 1_000;
  }
  async function setPlan(instanceId: string, plan: string): Promise<void> {
    await accounts.changeInstance({ instanceId, change: { plan } });
    await limits.forget(instanceId);
  }
  const kindOf = async (instanceId: string, bytes = 0) => (await limits.checkStorage(instanceId, bytes))?.kind ?? null;
  return { ...harness, store, limits, start, setPlan, kindOf };
}

const FULL = 'storage-quota-exceeded';

test('storage of all instances of an account counts together, and a full account cannot start anything new', async (t) => {
  const { limits, start, kindOf } = await open(t);
  await start(INSTANCE, 1);
  await start(SECOND, 1);
  assert.equal(await kindOf(INSTANCE), null);
  assert.equal(await kindOf(INSTANCE, 1_000), null, 'exactly the remaining storage');
  assert.equal(await kindOf(INSTANCE, 1_001), FULL, 'more than the remaining storage');
  await start(SECOND, 1);
  for (const instanceId of [INSTANCE, SECOND]) {
    assert.equal(await kindOf(instanceId), FULL);
    assert.equal((await limits.refuseSpending(instanceId))?.kind, FULL);
    assert.equal((await limits.admitRuns(instanceId, 1)).kind, FULL);
    assert.equal((await limits.admitTick(instanceId, { bodyBytes: 1, runs: 1 })).kind, `tick-${FULL}`);
  }
  const [words = ''] = await limits.currentRefusals(INSTANCE);
  assert.match(words, /2\.9 KiB of the 2\.9 KiB/);
  assert.deepEqual(await limits.storage(INSTANCE), {
    instanceBytes: 1_000,
    accountBytes: 3_000,
    maxBytes: 3_000,
    activeRuns: 3,
    maxActiveRuns: 3,
  });
});

test('documents of search indexes count together with runs', async (t) => {
  const { limits, start, kindOf } = await open(t, 2_000);
  await start(INSTANCE, 1);
  assert.equal(await kindOf(INSTANCE), FULL);
  assert.equal((await limits.refuseDocuments(OWNER, 1))?.kind, FULL);
  assert.equal(await limits.refuseDocuments(OTHER_OWNER, 1_000), null);
});

test("the account has the largest limit of its instances' plans, and none if one plan has none", async (t) => {
  const { limits, start, setPlan, kindOf } = await open(t);
  await start(INSTANCE, 3);
  assert.equal(await kindOf(INSTANCE), FULL);
  await setPlan(SECOND, 'large');
  assert.equal(await kindOf(INSTANCE, 2_000), null);
  assert.equal(await kindOf(INSTANCE, 2_001), FULL);
  await setPlan(SECOND, 'endless');
  assert.equal(await kindOf(INSTANCE, 1e9), null);
  assert.equal((await limits.storage(INSTANCE))?.maxBytes, null);
});

test('API calls to search indexes are counted by account, at the rate of its largest plan', async (t) => {
  const { limits } = await open(t);
  for (let n = 0; n < 100; n++) assert.equal(await limits.admitSearchCall(OWNER), null, 'these plans have no rate limit');
  const waits = [];
  for (let n = 0; n < 201; n++) waits.push(await limits.admitSearchCall(OTHER_OWNER));
  assert.deepEqual([waits.slice(0, 200).every((wait) => wait === null), waits[200] !== null], [true, true]);
});

test('freed storage can be used again', async (t) => {
  const { store, start, kindOf, at } = await open(t);
  await start(INSTANCE, 3);
  assert.equal(await kindOf(INSTANCE), FULL);
  const runKey = sampleRun(1).key;
  const outcome = { status: 'canceled' } as const;
  await store.commit([{ guards: [], writes: [{ kind: 'end-run', runKey, outcome, completedAt: NOON }] }]);
  const removed = await store.removeEndedRuns({
    instanceId: INSTANCE,
    state: 'canceled',
    endedBefore: at + 1,
    keepNewest: null,
    limit: 10,
  });
  assert.equal(removed, 1);
  await start(INSTANCE, 0);
  assert.equal(await kindOf(INSTANCE), null);
});

test('an account has as many active runs as its plan allows, across all its instances', async (t) => {
  const { limits, start, setPlan } = await open(t);
  await setPlan(SECOND, 'large');
  await start(INSTANCE, 2);
  assert.equal((await limits.admitRuns(SECOND, 2)).kind, 'admitted');
  assert.equal((await limits.admitRuns(SECOND, 3)).kind, 'too-many-active-runs');
  await start(SECOND, 2);
  assert.equal((await limits.admitRuns(INSTANCE, 1)).kind, 'too-many-active-runs');
  assert.equal(await limits.refuseSpending(INSTANCE), null, 'a schedule can be created');
});
