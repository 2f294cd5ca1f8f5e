/** Tests two processes on one store: a change in one must reach the other. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AccountStore, InstanceChange } from '../ports/stores/account-store.js';
import type { SharedDailyRuns } from '../ports/stores/shared-daily-runs.js';
import { CACHE_TTL_MS } from './cache-coordinator.js';
import { createLimits } from './plans/limits.js';
import { loadPlans } from './plans/plans.js';
import { INSTANCE, openSpending } from './spending.fixture.js';
import { createAuthority } from './tokens/authority.js';

const REGION = 'eu-central-1';
const SECOND_MS = 1_000;
const PLANS = JSON.stringify({
  plans: [
    { name: 'small', maxRequestsPerDay: 5, apiCallsPerSecond: 2, maxParallelism: 4, pricePer100kMessages: 1 },
    { name: 'large', maxParallelism: 9, pricePer100kMessages: 1 },
  ],
});

/** An in-memory store of daily counts. */
class Days implements SharedDailyRuns {
  readonly taken = new Map<string, number>();
  asked = 0;
  released = 0;

  async reserve({ instanceId, day, runs, max }: Parameters<SharedDailyRuns['reserve']>[0]) {
    this.asked++;
    const key = `${instanceId} ${day}`;
    const used = this.taken.get(key) ?? 0;
    if (used + runs > max) return { isReserved: false, used };
    this.taken.set(key, used + runs);
    return { isReserved: true, used: used + runs };
  }
  async release({ instanceId, day, runs }: Parameters<SharedDailyRuns['release']>[0]) {
    const key = `${instanceId} ${day}`;
    this.released++;
    this.taken.set(key, (this.taken.get(key) ?? 0) - runs);
  }
  async used({ instanceId, day }: Parameters<SharedDailyRuns['used']>[0]) {
    return this.taken.get(`${instanceId} ${day}`) ?? 0;
  }
}

async function open(t: TestContext, more: InstanceChange = {}) {
  const harness = await openSpending(t, more);
  const read = loadPlans(PLANS);
  assert.ok(read.ok);
  const { plans } = read;
  const days = new Days();
  let elapsed = 0;
  const elapsedMs = () => elapsed;
  const changed: string[] = [];
  const { store } = harness;
  const authority = () =>
    createAuthority({
      store,
      now: () => harness.at,
      cacheCoordinator: { elapsedMs, notifyChanged: (instanceId) => changed.push(instanceId) },
    });
  const limits = () => createLimits({ accounts: store.accounts, plans, now: () => harness.at, elapsedMs, sharedDailyRuns: days });
  const pass = (ms: number) => {
    elapsed += ms;
  };
  return { ...harness, authority, limits, pass, days, changed, harness };
}

/** Waits until background work has ended. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a token revoked elsewhere is refused after the notification, or a few seconds later without one', async (t) => {
  const { authority, pass, changed } = await open(t);
  const [one, two] = [await authority(), await authority()];
  const tokens = [
    await one.issueToken({ instanceId: INSTANCE, access: 'read-write' }),
    await one.issueToken({ instanceId: INSTANCE, access: 'read-only' }),
  ];
  for (const [token, isTold] of [[tokens[0] ?? '', true] as const, [tokens[1] ?? '', false] as const]) {
    const verdict = await two.verify(token, REGION);
    assert.ok(verdict.ok);
    await one.revoke(/^token (\S+)/.exec(verdict.caller.actor)?.[1] ?? '');
    assert.equal(changed.at(-1), INSTANCE);
    assert.equal(one.recall(token, REGION), undefined);
    assert.equal(two.recall(token, REGION)?.ok, true, 'no notification was sent');
    if (isTold) await two.forget(INSTANCE);
    else pass(CACHE_TTL_MS);
    assert.equal(two.recall(token, REGION), undefined);
    assert.equal((await two.verify(token, REGION)).ok, false);
    assert.equal(await two.isValid(token, INSTANCE), false);
  }
});

test('a verification in progress during a change notification is not cached', async (t) => {
  const { store, at } = await openSpending(t);
  let whenRead = async () => {};
  const accounts: AccountStore = {
    ...store.accounts,
    async findToken(query) {
      const found = await store.accounts.findToken(query);
      await whenRead();
      return found;
    },
  };
  const cacheCoordinator = { elapsedMs: () => 0, notifyChanged: () => {} };
  const authority = await createAuthority({ store: { accounts }, now: () => at, cacheCoordinator });
  const token = await authority.issueToken({ instanceId: INSTANCE, access: 'read-write' });
  whenRead = () => authority.forget(INSTANCE);
  assert.equal((await authority.verify(token, REGION)).ok, true);
  assert.equal(authority.recall(token, REGION), undefined);
});

test('signing keys rotated elsewhere are known after the notification, or a few seconds later without one', async (t) => {
  const { authority, pass, changed } = await open(t);
  const [one, two] = [await authority(), await authority()];
  const first = await one.rotateSigningKeys(INSTANCE);
  assert.deepEqual(changed, [INSTANCE]);
  assert.equal(two.signingKeys(INSTANCE).current, 'a');
  await two.forget(INSTANCE);
  assert.deepEqual(two.signingKeys(INSTANCE), first);
  const second = await one.rotateSigningKeys(INSTANCE);
  pass(CACHE_TTL_MS);
  two.signingKeys(INSTANCE);
  await settled();
  assert.deepEqual(two.signingKeys(INSTANCE), second);
  // A rotation continues from the stored keys, whatever is cached.
  const third = await one.rotateSigningKeys(INSTANCE);
  const fourth = await two.rotateSigningKeys(INSTANCE);
  assert.equal(fourth.current, third.next);
});

test('an instance created elsewhere is found on demand, and a missing one is not', async (t) => {
  const { authority, store } = await open(t);
  const two = await authority();
  const keys = { currentSigningKey: 'x', nextSigningKey: 'y' };
  await store.accounts.createInstance({ instanceId: 'qi_2', region: REGION, name: 'new', createdAt: 1, ...keys });
  assert.throws(() => two.signingKeys('qi_2'), /queue instance qi_2 does not exist/);
  await two.prepare('qi_2');
  assert.deepEqual(two.signingKeys('qi_2'), { current: 'x', next: 'y' });
  assert.equal(two.prepare('qi_2'), null);
  await two.prepare('qi_none');
  assert.throws(() => two.signingKeys('qi_none'), /queue instance qi_none does not exist/);
});

test('a single process on the store does not read again', async (t) => {
  const { store, at } = await openSpending(t);
  const authority = await createAuthority({ store, now: () => at });
  const token = await authority.issueToken({ instanceId: INSTANCE, access: 'read-write' });
  await authority.verify(token, REGION);
  await store.accounts.setSigningKeys({ instanceId: INSTANCE, current: 'x', next: 'y' });
  assert.equal(authority.recall(token, REGION)?.ok, true);
  assert.equal(authority.signingKeys(INSTANCE).current, 'a');
  assert.equal(authority.prepare(INSTANCE), null);
});

test('a plan changed elsewhere applies after the notification, or within a second without one', async (t) => {
  const { limits, pass, harness } = await open(t, { plan: 'small' });
  const two = await limits();
  const notified: string[] = [];
  two.onChange((instanceId) => notified.push(instanceId));
  assert.equal(two.maxParallelism(INSTANCE), 4);
  await harness.change({ plan: 'large' });
  await two.forget(INSTANCE);
  assert.equal(two.maxParallelism(INSTANCE), 9);
  assert.ok(notified.length > 0);
  notified.length = 0;
  await harness.change({ plan: 'small' });
  pass(SECOND_MS);
  two.maxParallelism(INSTANCE);
  await settled();
  assert.equal(two.maxParallelism(INSTANCE), 4);
  assert.deepEqual(notified, [INSTANCE], 'listeners for changes are notified');
  await harness.change({ plan: 'large' });
  await two.forgetEverything();
  assert.equal(two.maxParallelism(INSTANCE), 9);
});

test('a budget is enforced within a second of spending or changes by other processes', async (t) => {
  const { limits, pass, harness } = await open(t, { plan: 'large', budgetDollars: 1 });
  const two = await limits();
  assert.equal(await two.refuseSpending(INSTANCE), null);
  await harness.send(100_000);
  pass(SECOND_MS);
  assert.equal((await two.refuseSpending(INSTANCE))?.kind, 'budget-exceeded');
  await harness.change({ budgetDollars: 5 });
  pass(SECOND_MS);
  assert.equal(await two.refuseSpending(INSTANCE), null);
  await harness.change({ budgetDollars: 1 });
  await two.forgetEverything();
  assert.equal((await two.refuseSpending(INSTANCE))?.kind, 'budget-exceeded');
});

test('daily runs are limited across all processes, and runs that did not start are given back', async (t) => {
  const { limits, days } = await open(t, { plan: 'small' });
  const both = [await limits(), await limits()];
  const decided = await Promise.all(
    both.flatMap((each) =>
      Array.from({ length: 4 }, () => each.admitRuns(INSTANCE, 1).then((runAdmission) => ({ each, runAdmission }))),
    ),
  );
  const runAdmission = decided.filter(({ runAdmission }) => runAdmission.kind === 'admitted');
  assert.equal(runAdmission.length, 5);
  for (const { runAdmission } of decided) if (runAdmission.kind !== 'admitted') assert.equal(runAdmission.kind, 'daily-limit');
  const [first] = runAdmission;
  assert.ok(first?.runAdmission.kind === 'admitted');
  assert.equal((await first.each.currentRefusals(INSTANCE)).length, 1);
  first.each.releaseRuns(INSTANCE, 1, first.runAdmission);
  await settled();
  assert.equal((await both[1]?.admitRuns(INSTANCE, 2))?.kind, 'daily-limit');
  assert.equal((await both[1]?.admitRuns(INSTANCE, 1))?.kind, 'admitted');
  assert.deepEqual([...days.taken.values()], [5]);
});

test('nothing is written to the store if all admitted runs were started', async (t) => {
  const { limits, days } = await open(t, { plan: 'small' });
  const one = await limits();
  const runAdmission = await one.admitRuns(INSTANCE, 2);
  assert.ok(runAdmission.kind === 'admitted');
  one.releaseRuns(INSTANCE, 0, runAdmission);
  assert.equal(days.released, 0);
  one.releaseRuns(INSTANCE, 1, runAdmission);
  assert.equal(days.released, 1);
});

test('concurrent starts are combined into few store requests', async (t) => {
  const { limits, days } = await open(t, { plan: 'small' });
  const one = await limits();
  const kinds = await Promise.all(Array.from({ length: 5 }, async () => (await one.admitRuns(INSTANCE, 1)).kind));
  assert.deepEqual(new Set(kinds), new Set(['admitted']));
  assert.ok(days.asked <= 3, `${days.asked} requests`);
});
