/** Deliveries that wait until they are dispatched again, and those that are removed before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLBACK_SLOT } from '../../engine/runs/run.js';
import type { Delivery } from '../gates/delivery.js';
import { ManualClock } from '../runtime.fixture.js';
import { LaterDeliveries } from './later-deliveries.js';

const delivery = (runKey: string, slot = 0, instanceId = 'qi_1'): Delivery => ({
  ...{ runKey, slot },
  limits: { instanceId, flowControlKey: null, origin: 'http://app:80' },
});

function open() {
  const clock = new ManualClock();
  const dispatched: string[] = [];
  const redispatch = (retried: Delivery): void => {
    later.dispatched(retried);
    dispatched.push(`${retried.runKey}/${retried.slot}`);
  };
  const later = new LaterDeliveries({ redispatch }, clock);
  return { clock, dispatched, later };
}

test('a delivery is retried once, with the limits that were found last', () => {
  const { clock, dispatched, later } = open();
  const limits = { instanceId: 'qi_1', flowControlKey: 'k', origin: 'http://app:80' };
  assert.equal(later.updateRetry(delivery('r')), false);
  assert.equal(later.retryFailed(delivery('r')), 1_000);
  later.retryUnattempted(delivery('r'));
  assert.equal(later.updateRetry({ ...delivery('r', 0), limits }), true);
  clock.move(1_000);
  assert.deepEqual(dispatched, ['r/0']);
  assert.equal(later.updateRetry(delivery('r')), false);
});

test('a delivery that is dispatched earlier is not retried', () => {
  const { clock, dispatched, later } = open();
  later.retryFailed(delivery('r'));
  later.dispatched(delivery('r'));
  clock.move(60_000);
  assert.deepEqual(dispatched, []);
});

test('the delay doubles with each failure until an attempt does not fail', () => {
  const { clock, later } = open();
  const delays = [1, 2, 3].map(() => {
    const delayMs = later.retryFailed(delivery('r'));
    clock.move(delayMs);
    return delayMs;
  });
  later.attempted(delivery('r'));
  assert.deepEqual([...delays, later.retryFailed(delivery('r'))], [1_000, 2_000, 4_000, 1_000]);
});

for (const [what, remove, remaining] of [
  ['a task that no longer exists', (later: LaterDeliveries) => later.withdraw(delivery('r')), ['r/9', 's/0', 't/0']],
  ['a run that has ended on another node', (later: LaterDeliveries) => later.withdrawRun('r'), ['r/9', 's/0', 't/0']],
  ['a deleted queue instance', (later: LaterDeliveries) => later.drop('qi_2'), ['r/0', 'r/9', 's/0']],
] as const) {
  test(`the deliveries of ${what} are removed`, () => {
    const { clock, dispatched, later } = open();
    const all = [delivery('r'), delivery('r', CALLBACK_SLOT), delivery('s'), delivery('t', 0, 'qi_2')];
    for (const one of all) {
      later.keepDueAgain(one);
      later.retryFailed(one);
    }
    remove(later);
    const name = ({ runKey, slot }: Delivery) => `${runKey}/${slot === CALLBACK_SLOT ? 9 : slot}`;
    clock.move(60_000);
    assert.deepEqual(
      dispatched.map((one) => one.replace(`/${CALLBACK_SLOT}`, '/9')),
      remaining,
    );
    const kept = all.filter((one) => later.takeDueAgain(one) !== undefined);
    assert.deepEqual(kept.map(name), remaining);
    const removed = all.filter((one) => !kept.includes(one));
    assert.deepEqual(
      removed.map((one) => later.retryFailed(one)),
      removed.map(() => 1_000),
    );
  });
}
