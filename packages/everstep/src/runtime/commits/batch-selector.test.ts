/** The order of units if more are waiting than fit into one batch. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommitUnit } from '../../engine/writes.js';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { ManualClock } from '../runtime.fixture.js';
import { BatchSelector, type WaitingUnit } from './batch-selector.js';
import { Committer } from './committer.js';

interface Named extends WaitingUnit {
  readonly name: string;
}
const units = (instanceId: string | null, count: number, bytes = 1): readonly Named[] =>
  Array.from({ length: count }, (_, n) => ({ instanceId, bytes, name: `${instanceId}/${n}` }));
const namesOf = (taken: ReadonlySet<Named>) => [...taken].map(({ name }) => name);
const all = () => true;

test('accounts take turns, then their instances, and those of an instance keep their order', () => {
  const selector = new BatchSelector(ownersOf('a1', 'b1', 'b2'), { maxUnits: 6, maxBytes: 100 });
  const waiting = [...units('a1', 5), ...units('b1', 2), ...units('b2', 2)];
  const taken = selector.select(waiting, all);
  assert.deepEqual(namesOf(taken), ['a1/0', 'b1/0', 'a1/1', 'b2/0', 'a1/2', 'b1/1']);
});

test('the next batch starts with the account after the last one, so that each of many accounts has its turn', () => {
  const selector = new BatchSelector(ownersOf('a1', 'b1', 'c1'), { maxUnits: 2, maxBytes: 100 });
  let waiting = [...units('a1', 3), ...units('b1', 3), ...units('c1', 3)];
  const first: (string | null)[] = [];
  while (waiting.length > 0) {
    const taken = selector.select(waiting, all);
    first.push(...[...taken].map(({ instanceId }) => instanceId));
    waiting = waiting.filter((unit) => !taken.has(unit));
  }
  assert.deepEqual(first.slice(0, 6), ['a1', 'b1', 'c1', 'a1', 'b1', 'c1']);
});

test('a batch does not exceed its limit of bytes, unless a single unit does', () => {
  const selector = new BatchSelector(ownersOf('a1'), { maxUnits: 10, maxBytes: 10 });
  assert.deepEqual(namesOf(selector.select([...units('a1', 5, 4)], all)), ['a1/0', 'a1/1']);
  assert.deepEqual(namesOf(selector.select([...units('a1', 2, 40)], all)), ['a1/0']);
});

test('a unit of an unknown instance is written after all earlier units and before all later ones', () => {
  const selector = new BatchSelector(ownersOf('a1', 'b1'), { maxUnits: 3, maxBytes: 100 });
  const unknown = units(null, 1);
  const waiting = [...units('a1', 2), ...unknown, ...units('b1', 9)];
  assert.deepEqual(namesOf(selector.select(waiting, all)), ['a1/0', 'a1/1']);
  assert.deepEqual(namesOf(selector.select([...unknown, ...units('b1', 9)], all)), ['null/0']);
});

test('a unit that must wait for another one does not count', () => {
  const selector = new BatchSelector(ownersOf('a1'), { maxUnits: 2, maxBytes: 100 });
  assert.deepEqual(namesOf(selector.select(units('a1', 5), ({ name }) => name !== 'a1/0')), ['a1/1', 'a1/2']);
});

for (const max of [1, 3]) {
  test(`a unit of a quiet account is in the next batch although another account has 10,000, with ${max} batches at a time`, async () => {
    const clock = new ManualClock();
    const batches: (readonly string[])[] = [];
    const store = {
      concurrentBatches: { max, minUnits: 1 },
      async commit(batch: readonly CommitUnit[]) {
        batches.push(batch.flatMap(({ guards }) => guards.map((guard) => ('instanceId' in guard ? guard.instanceId : ''))));
        return batch.map(() => ({ kind: 'applied' as const }));
      },
    };
    const committer = new Committer(store, clock, undefined, undefined, ownersOf('hostile1', 'quiet1'));
    const submit = (instanceId: string, n: number) =>
      committer.submit({ guards: [{ kind: 'run-id-free', instanceId, workflowRunId: `wfr_${n}` }], writes: [] });
    const hostile = Array.from({ length: 10_000 }, (_, n) => submit('hostile1', n));
    await submit('quiet1', 0);
    assert.ok(batches.length <= max, `${batches.length} batches were written before it`);
    await Promise.all(hostile);
    assert.equal(batches.flat().length, 10_001);
    assert.ok(batches.every(({ length }) => length <= 256));
    assert.ok(batches.length <= 41, `one account alone fills its batches: ${batches.length}`);
    await committer.settled();
  });
}
