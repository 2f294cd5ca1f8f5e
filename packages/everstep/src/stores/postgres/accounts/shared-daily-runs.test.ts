/** Daily runs that several nodes start concurrently. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { apply, INSTANCE, OTHER_INSTANCE } from '../../conformance/samples.js';
import { openPostgresNode } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const DAY_MS = 86_400_000;
const DAY = 20_000;

if (typeof schemas === 'string') {
  describe('daily runs in PostgreSQL', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const facts = { host: 'test', version: '0' };
  const nodes = await Promise.all([1, 2, 3].map(() => openPostgresNode({ url: schema.url, log, facts })));
  const [one, two] = nodes;
  assert.ok(one && two);
  after(async () => {
    for (const { store } of nodes) await store.close();
  });
  afterEach(() => schema.clear());
  const take = (node: typeof one, runs: number, max: number, instanceId = INSTANCE, day = DAY) =>
    node.sharedDailyRuns.reserve({ instanceId, day, runs, max });

  describe('daily runs in PostgreSQL', () => {
    test('all nodes together start exactly as many as the limit allows', async () => {
      const taken = await Promise.all(Array.from({ length: 90 }, (_, n) => take(nodes[n % 3] ?? one, 1 + (n % 2), 50)));
      const runs = taken.reduce((sum, each, n) => sum + (each.isReserved ? 1 + (n % 2) : 0), 0);
      assert.equal(runs, 50);
      assert.deepEqual(await take(two, 1, 50), { isReserved: false, used: 50 });
      assert.equal(await one.sharedDailyRuns.used({ instanceId: INSTANCE, day: DAY }), 50);
    });

    test('each instance and each day is counted separately, and a run that was not started is released', async () => {
      assert.deepEqual(await take(one, 3, 3), { isReserved: true, used: 3 });
      assert.deepEqual(await take(two, 1, 3, OTHER_INSTANCE), { isReserved: true, used: 1 });
      assert.deepEqual(await take(two, 3, 3, INSTANCE, DAY + 1), { isReserved: true, used: 3 });
      await two.sharedDailyRuns.release({ instanceId: INSTANCE, day: DAY, runs: 2 });
      assert.deepEqual(await take(two, 3, 3), { isReserved: false, used: 1 });
      assert.deepEqual(await take(two, 2, 3), { isReserved: true, used: 3 });
      assert.equal(await one.sharedDailyRuns.used({ instanceId: INSTANCE, day: DAY + 2 }), 0);
    });

    test('runs that were started without a limit count as well', async () => {
      const count = { kind: 'count-of-day', instanceId: INSTANCE, what: 'run', count: 4, at: DAY * DAY_MS } as const;
      assert.deepEqual(await take(one, 1, 5), { isReserved: true, used: 1 });
      await apply(one.store, [count]);
      assert.equal(await two.sharedDailyRuns.used({ instanceId: INSTANCE, day: DAY }), 4);
      assert.deepEqual(await take(two, 2, 5), { isReserved: false, used: 4 });
      assert.deepEqual(await take(two, 1, 5), { isReserved: true, used: 5 });
    });

    test('old days are removed as later ones are counted', async () => {
      await take(one, 1, 5);
      await take(two, 1, 5, INSTANCE, DAY + 100);
      assert.equal(await one.sharedDailyRuns.used({ instanceId: INSTANCE, day: DAY }), 0);
    });
  });
}
