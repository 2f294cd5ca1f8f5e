import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemClock } from '../clock/system-clock.js';
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import type { Store } from '../ports/store.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { Committer } from './committer.js';

const UNIT: CommitUnit = { guards: [], writes: [] };
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what was submitted while a batch was being written is lost with it: it may build on that', { timeout: 5_000 }, async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const batches: { units: number; fail: () => void; pass: () => void }[] = [];
  const slow: Store = {
    ...store,
    commit: (units) =>
      new Promise<readonly CommitResult[]>((resolve, reject) => {
        batches.push({
          units: units.length,
          fail: () => reject(new Error('the disk is full')),
          pass: () => resolve(units.map(() => ({ kind: 'applied' }))),
        });
      }),
  };
  const committer = new Committer(slow, createSystemClock());
  const lost: string[] = [];
  const first = committer.submit(UNIT, () => lost.push('first'));
  await turn();
  await turn();
  const second = committer.submit(UNIT, () => lost.push('second'));
  await turn();
  batches[0]?.fail();
  await assert.rejects(first, /disk is full/);
  await assert.rejects(second, /disk is full/);
  assert.deepEqual(lost, ['first', 'second']);
  const third = committer.submit(UNIT);
  await turn();
  await turn();
  assert.deepEqual(
    batches.map(({ units }) => units),
    [1, 1],
  );
  batches[1]?.pass();
  assert.deepEqual(await third, { kind: 'applied' });
  await committer.settled();
  await store.close();
});
