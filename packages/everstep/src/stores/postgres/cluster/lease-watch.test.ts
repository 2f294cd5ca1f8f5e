import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeaseWatch } from './lease-watch.js';

/** A lease of 1000 ms on a clock that the test sets. The timers have their own clock, which may be ahead of it. */
function watchedLease() {
  let now = 0;
  const lease = {
    until: 1_000,
    get isValid() {
      return now < this.until;
    },
  };
  const expired: number[] = [];
  const watch = new LeaseWatch(
    lease,
    () => expired.push(now),
    () => now,
  );
  return {
    lease,
    watch,
    expired,
    set: (time: number) => {
      now = time;
    },
  };
}

test('the end of a lease is reported once, although its timer fires a few milliseconds early', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { watch, expired, set } = watchedLease();
  watch.start();
  set(998.5);
  t.mock.timers.tick(1_000);
  assert.deepEqual(expired, []);
  set(1_000.5);
  t.mock.timers.tick(2);
  assert.deepEqual(expired, [1_000.5]);
  t.mock.timers.tick(10_000);
  assert.equal(expired.length, 1);
});

test('a renewed lease is watched until its new end, and a watch that was stopped reports nothing', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { lease, watch, expired, set } = watchedLease();
  watch.start();
  set(500);
  lease.until = 1_500;
  watch.start();
  t.mock.timers.tick(999);
  assert.deepEqual(expired, []);
  set(1_500);
  t.mock.timers.tick(1);
  assert.deepEqual(expired, [1_500]);
  watch.start();
  watch.stop();
  t.mock.timers.tick(10_000);
  assert.equal(expired.length, 1);
});
