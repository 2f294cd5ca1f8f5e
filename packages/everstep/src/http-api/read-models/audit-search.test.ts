import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEntry } from '../../ports/stores/account-store.js';
import { type AuditPageQuery, readMatchingEntries } from './audit-search.js';

const ENTRIES = Array.from(
  { length: 1_000 },
  (_, n): AuditEntry => ({
    ...{ auditId: `aud_${n}`, at: n, actor: 'user@shop.test', action: 'queue.create', subject: `qi_${n}` },
    ...{ accountIds: [], address: '127.0.0.1', details: {} },
  }),
);

function harness(matches: (entry: AuditEntry) => boolean) {
  const slices: number[] = [];
  let isInSlice = false;
  const search = {
    matches: (entry: AuditEntry) => {
      assert.ok(isInSlice, 'entries are compared within a slice');
      return matches(entry);
    },
    maxSearched: 900,
    read: async ({ after, limit }: AuditPageQuery) => {
      const start = after === null ? 0 : ENTRIES.findIndex(({ auditId }) => auditId === after) + 1;
      slices.push(limit);
      return ENTRIES.slice(start, start + limit);
    },
    runSlice: async <Result>(work: () => Promise<Result>) => {
      isInSlice = true;
      const result = await work();
      isInSlice = false;
      return result;
    },
  };
  return { slices, find: (position: AuditPageQuery) => readMatchingEntries(search, position) };
}

test('a search reads and compares at most 200 entries at a time', async () => {
  const { slices, find } = harness(() => false);
  assert.deepEqual(await find({ after: null, limit: 10 }), { entries: [], next: 'aud_899' });
  assert.deepEqual(slices, [201, 201, 201, 201, 101]);
  assert.deepEqual(await find({ after: 'aud_899', limit: 10 }), { entries: [], next: null });
});

test('a page ends at its last match, also across slices', async () => {
  const { find } = harness(({ at }) => at % 150 === 0);
  const { entries, next } = await find({ after: null, limit: 3 });
  assert.deepEqual([entries.map(({ at }) => at), next], [[0, 150, 300], 'aud_300']);
  const rest = await find({ after: next, limit: 5 });
  assert.deepEqual([rest.entries.map(({ at }) => at), rest.next], [[450, 600, 750, 900], null]);
});
