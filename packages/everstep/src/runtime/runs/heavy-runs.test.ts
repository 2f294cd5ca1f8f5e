import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { createEntry } from './heavy-runs.fixture.js';
import { HeavyRuns } from './heavy-runs.js';

const LARGE = LIMITS.maxKeptEventBytes;

class World {
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
  const world = new World();
  assert.equal(world.startMany('hog1', 1_000, LIMITS.heavyRunBytes - 1).length, 1_000);
});

test('heavy runs of one account leave memory to those of another, and continue when one of them ends', () => {
  const world = new World();
  const ends = world.startMany('hog1', 20, LARGE);
  assert.equal(ends.length, 2);
  assert.ok(world.start('quiet1', 'theirs', LARGE));
  assert.equal(world.heavy.isWaiting({ runKey: 'hog1-2', slot: 1 }), true);
  ends[0]?.();
  assert.deepEqual(world.again, ['hog1-2']);
  assert.equal(world.heavy.isWaiting({ runKey: 'hog1-2', slot: 1 }), false);
});

test('deliveries of one run share its memory', () => {
  const world = new World();
  const ends = [1, 2, 3].map((slot) => world.start('hog1', 'same', LARGE, slot));
  world.startMany('hog1', 5, LARGE);
  assert.ok(ends.every((end) => end !== null));
  for (const end of ends.slice(1)) end?.();
  assert.deepEqual(world.again, []);
  ends[0]?.();
  assert.equal(world.again.length, 1);
});

test('a run that is larger than the whole limit gets its turn', () => {
  const world = new World();
  assert.ok(world.start('hog1', 'giant', 10 * LIMITS.maxCachedRunBytes));
});
