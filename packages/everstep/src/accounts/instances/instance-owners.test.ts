/** Tests the owners of instances that fair sharing uses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLimits } from '../plans/limits.js';
import { BUILT_IN_PLANS } from '../plans/plans.js';
import { createAccountService } from '../service.js';
import { INSTANCE, OTHER_OWNER, OWNER, openSpending } from '../spending.fixture.js';
import { createAuthority } from '../tokens/authority.js';

test('owners are known from the start, and a new or moved instance is known before the response to its change', async (t) => {
  const { store, ...harness } = await openSpending(t);
  const now = () => harness.at;
  const limits = await createLimits({ accounts: store.accounts, plans: BUILT_IN_PLANS, now });
  const { owners } = limits;
  assert.deepEqual([owners.accountOf(INSTANCE), owners.isShared, owners.hasSeveralInstances(OWNER)], [OWNER, false, false]);
  assert.equal(owners.accountOf('qi_unknown'), 'qi_unknown');
  const accounts = createAccountService({
    accounts: store.accounts,
    authority: await createAuthority({ store, now }),
    now,
    random: { bytes: (count) => crypto.getRandomValues(new Uint8Array(count)) },
    plans: BUILT_IN_PLANS,
    onInstanceChanged: (instanceId) => limits.forget(instanceId),
  });
  const users = await store.accounts.listUsers();
  const principalOf = (userId: string) => {
    const user = users.find((each) => each.userId === userId);
    assert.ok(user);
    return { user, address: '127.0.0.1' };
  };
  const create = (userId: string) => accounts.createInstance(principalOf(userId), { name: 'more', region: 'eu-central-1' });
  await create(OWNER);
  assert.deepEqual([owners.isShared, owners.hasSeveralInstances(OWNER)], [false, true]);
  await create(OTHER_OWNER);
  assert.deepEqual([owners.isShared, owners.hasSeveralInstances(OTHER_OWNER)], [true, false]);
  await store.accounts.changeInstance({ instanceId: INSTANCE, change: { accountId: OTHER_OWNER } });
  await limits.forget(INSTANCE);
  assert.deepEqual([owners.accountOf(INSTANCE), owners.hasSeveralInstances(OWNER)], [OTHER_OWNER, false]);
});

test('an account is active while its instances are used, and for 10 seconds afterward', async (t) => {
  const { store, ...world } = await openSpending(t);
  let elapsedMs = 0;
  const options = { accounts: store.accounts, plans: BUILT_IN_PLANS, now: () => world.at, elapsedMs: () => elapsedMs };
  const { owners, currentRefusals } = await createLimits(options);
  const isActiveFor = (instanceId: string): boolean => owners.othersAreActive(instanceId);
  assert.equal(isActiveFor('qi_other'), false, 'a start does not count as use');
  elapsedMs = 1_000;
  await currentRefusals(INSTANCE);
  assert.deepEqual([isActiveFor('qi_other'), isActiveFor(INSTANCE)], [true, false]);
  elapsedMs += 9_999;
  assert.equal(isActiveFor('qi_other'), true);
  elapsedMs += 1;
  assert.equal(isActiveFor('qi_other'), false);
});
