/** Tests the limits of a plan on named objects, with a real store in memory. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createLimits } from '../../accounts/plans/limits.js';
import { loadPlans } from '../../accounts/plans/plans.js';
import { INSTANCE, NOON, openSpending } from '../../accounts/spending.fixture.js';
import { ApiError } from '../../contract/error-codes.js';
import type { StoreWrite } from '../../ports/stores/store.js';
import { readsOf } from '../read-models/reads.js';
import { allowNamedObjects, assertObjectQuota, NewNames } from './named-objects.js';

const PLANS = JSON.stringify({ plans: [{ name: 'default', maxQueues: 1, maxUrlGroups: 1, maxFlowControlKeys: 2 }] });

async function open(t: TestContext) {
  const { store } = await openSpending(t);
  const read = loadPlans(PLANS);
  assert.ok(read.ok);
  const limits = await createLimits({ accounts: store.accounts, plans: read.plans, now: () => NOON });
  const write = (write: StoreWrite) => store.commit([{ guards: [], writes: [write] }]);
  const codeOf = async (asked: Promise<void>) => {
    try {
      await asked;
      return null;
    } catch (error) {
      assert.ok(error instanceof ApiError);
      return error.code;
    }
  };
  return { context: { limits, reads: readsOf(store) }, write, codeOf };
}

test('rejects a new flow control key, queue or URL group at the limit and accepts existing ones', async (t) => {
  const { context, write, codeOf } = await open(t);
  const at = NOON;
  const using = (key: string, queue?: string) =>
    codeOf(
      allowNamedObjects(context, INSTANCE, [
        { flowControl: { key }, ...(queue === undefined ? {} : { message: { method: 'POST', queue } }) },
      ]),
    );
  assert.equal(await using('a', 'q'), null);
  for (const key of ['a', 'b']) await write({ kind: 'put-flow-control', instanceId: INSTANCE, flowControl: { key }, at });
  assert.deepEqual([await using('a'), await using('b')], [null, null]);
  assert.equal(await using('c'), 'too-many-flow-control-keys');
  await write({ kind: 'register-queue', instanceId: INSTANCE, name: 'q', at });
  assert.deepEqual([await using('a', 'q'), await using('a', 'r')], [null, 'too-many-queues']);
  await write({
    kind: 'put-url-group',
    instanceId: INSTANCE,
    group: { instanceId: INSTANCE, name: 'g', createdAt: at, updatedAt: at, endpoints: [] } as never,
  });
  assert.equal(await codeOf(assertObjectQuota(context, INSTANCE, 'url-group', 'g')), null);
  assert.equal(await codeOf(assertObjectQuota(context, INSTANCE, 'url-group', 'h')), 'too-many-url-groups');
  await write({ kind: 'delete-url-group', instanceId: INSTANCE, name: 'g' });
  assert.equal(await codeOf(assertObjectQuota(context, INSTANCE, 'url-group', 'h')), null);
});

test('counts the new names of one request together', async (t) => {
  const { context, write, codeOf } = await open(t);
  const keysOf = (...keys: string[]) => keys.map((key) => ({ flowControl: { key } }));
  const allow = (keys: readonly string[], newNames?: NewNames) =>
    codeOf(allowNamedObjects(context, INSTANCE, keysOf(...keys), newNames));
  assert.deepEqual([await allow(['a', 'b', 'a']), await allow(['a', 'b', 'c'])], [null, 'too-many-flow-control-keys']);
  const newNames = new NewNames();
  assert.equal(await allow(['a'], newNames), null);
  // The first item may have created its key before the next one is checked.
  await write({ kind: 'put-flow-control', instanceId: INSTANCE, flowControl: { key: 'a' }, at: NOON });
  const next = await Promise.all(['b', 'a', 'c'].map((key) => allow([key], newNames)));
  assert.deepEqual(next, [null, null, 'too-many-flow-control-keys']);
});
