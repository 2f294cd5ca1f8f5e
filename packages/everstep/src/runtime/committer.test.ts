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

test('one unit that cannot be written is lost alone, with what was decided on its run after it', { timeout: 5_000 }, async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const of = (runKey: string): CommitUnit => ({ guards: [{ kind: 'run-active', runKey }], writes: [] });
  const faulty = of('faulty');
  const written: string[] = [];
  const refusing: Store = {
    ...store,
    commit: async (units) => {
      if (units.includes(faulty)) throw new Error('a step was recorded twice');
      for (const { guards } of units) for (const guard of guards) if (guard.kind === 'run-active') written.push(guard.runKey);
      return units.map(() => ({ kind: 'applied' }));
    },
  };
  const committer = new Committer(refusing, createSystemClock());
  const lost: string[] = [];
  const submit = (unit: CommitUnit, name: string) =>
    committer
      .submit(unit, () => lost.push(name))
      .then(
        () => 'written',
        () => 'lost',
      );
  const outcomes = await Promise.all([
    submit(of('a'), 'a'),
    submit(faulty, 'faulty'),
    submit(of('faulty'), 'after'),
    submit(of('b'), 'b'),
  ]);
  assert.deepEqual(outcomes, ['written', 'lost', 'lost', 'written']);
  assert.deepEqual(lost, ['faulty', 'after']);
  assert.deepEqual(written, ['a', 'b']);
  await store.close();
});

test('a unit that was written although the answer was lost is never taken for one that was refused', {
  timeout: 5_000,
}, async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  let commits = 0;
  const forgetful: Store = {
    ...store,
    commit: async (units) => {
      if (++commits === 1) throw new Error('the answer was lost');
      return units.map(() => ({ kind: 'run-not-active' }));
    },
  };
  const committer = new Committer(forgetful, createSystemClock());
  await Promise.all([
    assert.rejects(committer.submit(UNIT), /answer was lost/),
    assert.rejects(committer.submit(UNIT), /answer was lost/),
  ]);
  await store.close();
});
