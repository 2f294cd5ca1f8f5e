import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GatedDelivery, WaitList } from './wait-list.js';

const LIMITS = { instanceId: 'qi_1', flowControlKey: 'k', origin: 'http://a:80' };
const delivery = (order: number): GatedDelivery => new GatedDelivery({ runKey: `r${order}`, slot: 0 }, LIMITS, order, 0);

const orders = (list: WaitList): number[] => [...list.inOrder()].map(({ order }) => order);

test('a list keeps the order of offers, whichever deliveries are added late, removed early or returned', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant({ kind: 'new' as const, at: 0 }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('out' as const), at: fc.nat() }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'shift' as const, at: 0 }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('back' as const), at: fc.nat() }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const list = new WaitList();
      let expected: GatedDelivery[] = [];
      const out: GatedDelivery[] = [];
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
          expected = [...expected, one].sort((a, b) => a.order - b.order);
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
        orders(list),
        expected.map(({ order }) => order),
      );
      for (const [index, one] of expected.entries()) assert.equal(list.positionOf(one), index + 1);
    }),
  );
});

test('a packed list keeps every delivery and the order', () => {
  const list = new WaitList();
  const all = Array.from({ length: 5_000 }, (_, order) => delivery(order));
  for (const one of all) list.add(one);
  for (const one of all) if (one.order % 7 !== 3) list.remove(one);
  const left = all.filter(({ order }) => order % 7 === 3);
  assert.deepEqual(
    orders(list),
    left.map(({ order }) => order),
  );
  for (const one of left.toReversed()) list.remove(one);
  assert.equal(list.size, 0);
  assert.equal(list.first, null);
});

test('a delivery that waits in no list, or in another, is not removed', () => {
  const list = new WaitList();
  const other = new WaitList();
  const one = delivery(1);
  list.remove(one);
  other.add(one);
  list.remove(one);
  assert.deepEqual([list.size, other.size], [0, 1]);
});
