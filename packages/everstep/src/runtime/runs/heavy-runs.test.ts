import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { ManualClock } from '../runtime.fixture.js';
import { createEntry } from './heavy-runs.fixture.js';
import { HeavyRuns } from './heavy-runs.js';

const LARGE = LIMITS.maxKeptEventBytes;

class Harness {
  readonly again: string[] = [];
  readonly clock = new ManualClock();
  readonly heavy = new HeavyRuns(
    ownersOf('hog1', 'quiet1', 'third1'),
    { redispatch: ({ runKey }) => this.again.push(runKey) },
    this.clock,
  );

  start(instanceId: string, runKey: string, weight: number, slot = 1): (() => void) | null {
    const limits = { instanceId, flowControlKey: null, origin: 'http://app' };
    return this.heavy.start({ runKey, slot, limits }, createEntry(instanceId, runKey, weight));
  }
  /** Starts deliveries of `count` runs and returns the ends of those that may start. */
  startMany(instanceId: string, count: number, weight: number): (() => void)[] {
    const ends = Array.from({ length: count }, (_, index) => this.start(instanceId, `${instanceId}-${index}`, weight));
    return ends.filter((end) => end !== null);
  }
}

test('runs with few bytes never wait', () => {
  const harness = new Harness();
  assert.equal(harness.startMany('hog1', 1_000, LIMITS.heavyRunBytes - 1).length, 1_000);
});

test('heavy runs of one account leave memory to those of another, and continue when one of them ends', () => {
  const harness = new Harness();
  const ends = harness.startMany('hog1', 20, LARGE);
  assert.equal(ends.length, 2);
  assert.ok(harness.start('quiet1', 'theirs', LARGE));
  assert.equal(harness.heavy.isWaiting({ runKey: 'hog1-2', slot: 1 }), true);
  ends[0]?.();
  assert.deepEqual(harness.again, ['hog1-2']);
  assert.equal(harness.heavy.isWaiting({ runKey: 'hog1-2', slot: 1 }), false);
});

test('deliveries of one run share its memory', () => {
  const harness = new Harness();
  const ends = [1, 2, 3].map((slot) => harness.start('hog1', 'same', LARGE, slot));
  harness.startMany('hog1', 5, LARGE);
  assert.ok(ends.every((end) => end !== null));
  for (const end of ends.slice(1)) end?.();
  assert.deepEqual(harness.again, []);
  ends[0]?.();
  assert.equal(harness.again.length, 1);
});

test('a run that is larger than the whole limit gets its turn', () => {
  const harness = new Harness();
  assert.ok(harness.start('hog1', 'giant', 10 * LIMITS.maxCachedRunBytes));
});

/** Starts two runs that take the memory of the account, and a number of runs that wait. Returns the ends of the first two. */
function fillMemory(harness: Harness, waitingCount: number): (() => void)[] {
  const ends = harness.startMany('hog1', 2 + waitingCount, LARGE);
  assert.equal(ends.length, 2);
  return ends;
}

const ref = (index: number) => ({ runKey: `hog1-${index}`, slot: 1 });

test('if a delivery that was dispatched again does not start, the next one is dispatched', () => {
  const harness = new Harness();
  for (const end of fillMemory(harness, 4)) end();
  assert.deepEqual(harness.again, ['hog1-2']);
  // Its run has ended in the meantime.
  harness.heavy.attempted(ref(2));
  assert.deepEqual(harness.again, ['hog1-2', 'hog1-3']);
  // Its run is no longer large.
  assert.ok(harness.start('hog1', 'hog1-3', LIMITS.heavyRunBytes - 1));
  assert.deepEqual(harness.again, ['hog1-2', 'hog1-3', 'hog1-4']);
  // It waits at a gate.
  harness.clock.move(999);
  assert.equal(harness.again.length, 3);
  harness.clock.move(1);
  assert.deepEqual(harness.again, ['hog1-2', 'hog1-3', 'hog1-4', 'hog1-5']);
});

test('deliveries are dispatched again, one after the other, until the memory is taken', () => {
  const harness = new Harness();
  for (const end of fillMemory(harness, 4)) end();
  assert.ok(harness.start('hog1', 'hog1-2', LARGE));
  assert.deepEqual(harness.again, ['hog1-2', 'hog1-3']);
  assert.ok(harness.start('hog1', 'hog1-3', LARGE));
  harness.heavy.attempted(ref(3));
  harness.clock.move(10_000);
  assert.deepEqual(harness.again, ['hog1-2', 'hog1-3']);
});

test('a delivery that was dispatched again and finds too little memory waits behind the others', () => {
  const harness = new Harness();
  const [end] = fillMemory(harness, 2);
  end?.();
  const endOther = harness.start('hog1', 'hog1-7', LARGE);
  assert.equal(harness.start('hog1', 'hog1-2', LARGE), null);
  harness.clock.move(10_000);
  assert.deepEqual(harness.again, ['hog1-2']);
  endOther?.();
  assert.deepEqual(harness.again, ['hog1-2', 'hog1-3']);
});

test('the waiting delivery of a run that ended is removed, and no longer holds back a smaller run', () => {
  const harness = new Harness();
  const [end] = fillMemory(harness, 1);
  assert.equal(harness.start('hog1', 'small', LIMITS.heavyRunBytes), null);
  assert.ok(harness.start('quiet1', 'large', LARGE));
  assert.ok(harness.start('third1', 'other', LIMITS.heavyRunBytes));
  end?.();
  assert.deepEqual(harness.again, []);
  harness.heavy.withdraw(ref(2));
  assert.equal(harness.heavy.isWaiting(ref(2)), false);
  assert.deepEqual(harness.again, ['small']);
});

test('all waiting deliveries of a run that ended on another node are removed', () => {
  const harness = new Harness();
  const [end] = fillMemory(harness, 1);
  assert.equal(harness.start('hog1', 'hog1-2', LARGE, 2), null);
  assert.equal(harness.start('hog1', 'other', LARGE), null);
  harness.heavy.withdrawRun('hog1-2');
  assert.deepEqual(
    [1, 2].map((slot) => harness.heavy.isWaiting({ runKey: 'hog1-2', slot })),
    [false, false],
  );
  end?.();
  assert.deepEqual(harness.again, ['other']);
});

test('a deleted instance has no waiting deliveries, and forgotten ones are not dispatched again', () => {
  const harness = new Harness();
  const ends = fillMemory(harness, 3);
  harness.heavy.drop('quiet1');
  assert.equal(harness.heavy.isWaiting(ref(2)), true);
  harness.heavy.drop('hog1');
  assert.equal(harness.heavy.isWaiting(ref(2)), false);
  for (const end of ends) end();
  const laterEnds = fillMemory(harness, 3);
  laterEnds[0]?.();
  assert.equal(harness.again.length, 1);
  harness.heavy.forget();
  harness.clock.move(10_000);
  laterEnds[1]?.();
  assert.equal(harness.again.length, 1);
});
