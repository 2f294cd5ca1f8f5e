import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { createEntry } from './heavy-runs.fixture.js';
import { HeavyRuns } from './heavy-runs.js';

const LARGE = LIMITS.maxKeptEventBytes;

class Harness {
  readonly again: string[] = [];
  readonly heavy = new HeavyRuns(ownersOf('hog1', 'quiet1'), { redispatch: ({ runKey }) => this.again.push(runKey) });

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
