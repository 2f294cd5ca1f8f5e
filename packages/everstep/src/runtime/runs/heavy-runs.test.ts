import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { createEntry } from './heavy-runs.fixture.js';
import { HeavyRuns } from './heavy-runs.js';

const LARGE = LIMITS.maxKeptEventBytes;

class World {
  readonly again: string[] = [];
  readonly heavy = new HeavyRuns(ownersOf('hog1', 'quiet1'));

  begin(instanceId: string, runKey: string, weight: number, slot = 1): (() => void) | null {
    return this.heavy.begin({ runKey, slot }, createEntry(instanceId, runKey, weight), () => this.again.push(runKey));
  }
  /** As many as may begin. */
  beginMany(instanceId: string, count: number, weight: number): (() => void)[] {
    const ends = Array.from({ length: count }, (_, index) => this.begin(instanceId, `${instanceId}-${index}`, weight));
    return ends.filter((end) => end !== null);
  }
}

test('runs that carry little never wait', () => {
  const world = new World();
  assert.equal(world.beginMany('hog1', 1_000, LIMITS.heavyRunBytes - 1).length, 1_000);
});

test('heavy runs of one account leave memory to those of another, and go on when one of them ends', () => {
  const world = new World();
  const ends = world.beginMany('hog1', 20, LARGE);
  assert.equal(ends.length, 2);
  assert.ok(world.begin('quiet1', 'theirs', LARGE));
  assert.equal(world.heavy.isWaiting({ runKey: 'hog1-2', slot: 1 }), true);
  ends[0]?.();
  assert.deepEqual(world.again, ['hog1-2']);
  assert.equal(world.heavy.isWaiting({ runKey: 'hog1-2', slot: 1 }), false);
});

test('deliveries of one run share its memory', () => {
  const world = new World();
  const ends = [1, 2, 3].map((slot) => world.begin('hog1', 'same', LARGE, slot));
  world.beginMany('hog1', 5, LARGE);
  assert.ok(ends.every((end) => end !== null));
  for (const end of ends.slice(1)) end?.();
  assert.deepEqual(world.again, []);
  ends[0]?.();
  assert.equal(world.again.length, 1);
});

test('a run that is larger than all the memory has its turn', () => {
  const world = new World();
  assert.ok(world.begin('hog1', 'giant', 10 * LIMITS.maxCachedRunBytes));
});
