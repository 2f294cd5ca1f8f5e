/** Tests how many messages a request with a filter by host or path scans. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { NO_SLICES } from '../../fairness/work-slices.js';
import { creation, sampleRun } from '../../stores/conformance/samples.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { MessagePages } from './message-pages.js';

const INSTANCE = 'qi_1';

/** Opens a store with messages, every tenth of which is sent to `rare.test`. */
async function open(count: number) {
  const store = await openSqliteStore({ file: ':memory:' });
  for (let n = 1; n <= count; n++) {
    const workflowUrl = `https://${n % 10 === 0 ? 'rare' : 'w'}.test/hook`;
    const run = sampleRun(n, {
      instanceId: INSTANCE,
      workflowUrl,
      settings: { ...sampleRun(n).settings, message: { method: 'POST' } },
    });
    await store.commit([{ guards: [], writes: [creation(run)] }]);
  }
  return store;
}

const query = { instanceId: INSTANCE, order: 'newest-first', limit: 3 } as const;

test('pages by host have every matching message once, in order', async (t) => {
  const store = await open(100);
  t.after(() => store.close());
  const urls: string[] = [];
  const positions: number[] = [];
  let after: string | null = null;
  do {
    const page = await new MessagePages({ store, slices: NO_SLICES }).read({ ...query, filter: { hosts: ['rare.test'] }, after });
    assert.ok(page.items.length <= 3);
    urls.push(...page.items.map(({ workflowUrl }) => workflowUrl));
    positions.push(...page.items.map(({ position }) => Number(position)));
    after = page.next;
  } while (after !== null);
  assert.deepEqual(
    urls,
    Array.from({ length: 10 }, () => 'https://rare.test/hook'),
  );
  assert.deepEqual(
    positions,
    [...positions].sort((a, b) => b - a),
  );
});

test('a request scans a limited number of messages in slices, and returns where it stopped', async () => {
  let scans = 0;
  const item = {
    ...{ runKey: 'k', workflowRunId: 'r', createdAt: 0, completedAt: null, labels: [], error: null },
    position: '1',
  };
  const items = Array.from({ length: LIMITS.runsSearchedAtOnce }, () => ({ ...item, workflowUrl: 'https://w.test/' }));
  const pages = new MessagePages({
    slices: NO_SLICES,
    store: {
      listRuns: () => assert.fail('the store cannot find these messages by an index'),
      listSearchableRuns: async ({ filter, limit }) => {
        assert.deepEqual([filter, limit], [{ kind: 'message', statuses: ['active'] }, LIMITS.runsSearchedAtOnce]);
        return { items, next: String(++scans) };
      },
    },
  });
  const filter = { paths: ['/hook'], statuses: ['active'] } as const;
  assert.deepEqual(await pages.read({ ...query, filter, after: null }), { items: [], next: '40' });
  assert.equal(scans * LIMITS.runsSearchedAtOnce, LIMITS.maxRunsSearched);
  assert.ok(pages.isSpent);
  assert.deepEqual(await pages.read({ ...query, filter, after: '40' }), { items: [], next: '40' });
});
