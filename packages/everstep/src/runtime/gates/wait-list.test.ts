import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Delivery, WaitList } from './wait-list.js';

const delivery = (arrival: number): Delivery =>
  new Delivery({ runKey: `r${arrival}`, slot: 0 }, { instanceId: 'qi_1', flowControlKey: 'k', origin: 'http://a:80' }, arrival);

const arrivals = (list: WaitList): number[] => [...list.inOrder()].map(({ arrival }) => arrival);

test('a list is in the order of arrival whatever joins late, goes early or comes back', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant({ kind: 'new' as const, at: 0 }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('out' as const), at: fc.nat() }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'shift' as const, at: 0 }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('back' as const), at: fc.nat() }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const list = new WaitList();
      let expected: Delivery[] = [];
      const out: Delivery[] = [];
      let next = 0;
      for (const { kind, at } of steps) {
        if (kind === 'new') {
          const one = delivery(next++);
          list.add(one);
          expected.push(one);
        } else if (kind === 'back') {
          const [one] = out.splice(at % Math.max(1, out.length), 1);
          if (!one) continue;
          list.add(one);
          expected = [...expected, one].sort((a, b) => a.arrival - b.arrival);
        } else {
          const one = kind === 'shift' ? list.first : expected[at % Math.max(1, expected.length)];
          if (!one) continue;
          if (kind === 'shift') assert.equal(one, expected[0]);
          list.remove(one);
          expected = expected.filter((other) => other !== one);
          out.push(one);
        }
        assert.equal(list.size, expected.length);
        assert.equal(list.first, expected[0] ?? null);
      }
      assert.deepEqual(
        arrivals(list),
        expected.map(({ arrival }) => arrival),
      );
      for (const [index, one] of expected.entries()) assert.equal(list.placeOf(one), index + 1);
    }),
  );
});

test('a list that was packed loses nobody and mixes nothing up', () => {
  const list = new WaitList();
  const all = Array.from({ length: 5_000 }, (_, arrival) => delivery(arrival));
  for (const one of all) list.add(one);
  for (const one of all) if (one.arrival % 7 !== 3) list.remove(one);
  const left = all.filter(({ arrival }) => arrival % 7 === 3);
  assert.deepEqual(
    arrivals(list),
    left.map(({ arrival }) => arrival),
  );
  for (const one of left.toReversed()) list.remove(one);
  assert.equal(list.size, 0);
  assert.equal(list.first, null);
});

test('what waits in no list, or in another, is not removed', () => {
  const list = new WaitList();
  const other = new WaitList();
  const one = delivery(1);
  list.remove(one);
  other.add(one);
  list.remove(one);
  assert.deepEqual([list.size, other.size], [0, 1]);
});
