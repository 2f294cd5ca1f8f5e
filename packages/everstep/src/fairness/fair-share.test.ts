import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type InstanceOwners, ONE_OWNER } from '../ports/stores/instance-owners.js';
import { FairShare } from './fair-share.js';
import { ownersOf } from './owners.fixture.js';

/** Takes units one by one as long as that is allowed. */
function takeAll(share: FairShare, instanceId: string): number {
  const expected = share.countFor(instanceId);
  let taken = 0;
  for (; share.allows(instanceId); taken++) share.take(instanceId);
  if (expected !== Number.POSITIVE_INFINITY)
    assert.equal(taken, expected, 'countFor equals the number of times that allows returns true');
  return taken;
}

test('an instance without others may take everything', () => {
  const share = new FairShare(10, ONE_OWNER);
  assert.equal(share.countFor('a1'), Number.POSITIVE_INFINITY);
  assert.equal(takeAll(share, 'a1'), 10);
});

/** Names of accounts that have one instance each. */
const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `hog${'x'.repeat(index)}1`);

for (const hogs of [1, 2, 3, 8, 16]) {
  const names = namesOf(hogs);

  test(`${hogs} accounts that take their maximum one after the other leave a part for the next one`, () => {
    const share = new FairShare(512, ownersOf(...names, 'quiet1'));
    const taken = names.map((name) => takeAll(share, name));
    assert.ok(taken.every((count) => count > 0 && count <= 256));
    assert.ok(share.free >= 512 / (2 * hogs), `${share.free} are free`);
    assert.ok(takeAll(share, 'quiet1') >= 1);
  });

  test(`${hogs} accounts that take turns get equal amounts, and leave as much free`, () => {
    const share = new FairShare(512, ownersOf(...names, 'quiet1'));
    for (let isTaking = true; isTaking; ) {
      isTaking = false;
      for (const name of names) {
        if (!share.allows(name)) continue;
        share.take(name);
        isTaking = true;
      }
    }
    const taken = names.map((name) => share.takenBy(name));
    assert.ok(Math.max(...taken) - Math.min(...taken) <= 1);
    assert.ok(share.free >= 512 / (2 * hogs), `${share.free} are free`);
  });
}

test('an account that has nothing gets a unit while one is free', () => {
  const names = namesOf(30);
  const share = new FairShare(64, ownersOf(...names));
  for (const name of names.slice(0, 5)) takeAll(share, name);
  assert.equal(share.free, 9);
  for (const name of names.slice(5)) if (share.free > 0) assert.ok(takeAll(share, name) >= 1);
  assert.equal(share.free, 0);
});

test("an instance leaves a part of its account's share to the other instances of the account", () => {
  const alone = new FairShare(512, ownersOf('a1', 'a2'));
  assert.deepEqual([alone.ceilingOf('a1'), takeAll(alone, 'a1'), takeAll(alone, 'a2')], [256, 256, 98]);
  const shared = new FairShare(512, ownersOf('a1', 'a2', 'b1'));
  const ofOne = takeAll(shared, 'a1');
  assert.ok(ofOne > 150 && ofOne < 256, `${ofOne}`);
  assert.ok(takeAll(shared, 'a2') >= 20);
  assert.ok(takeAll(shared, 'b1') >= 50);
});

test('a returned amount can be taken again, even if the instance has moved to another account', () => {
  let account = 'first';
  const owners: InstanceOwners = { ...ownersOf('a1', 'b1'), accountOf: () => account };
  const share = new FairShare(10, owners);
  share.take('a1', 3);
  account = 'second';
  assert.equal(share.countFor('a1'), 2, 'it still counts for the first account');
  share.give('a1', 3);
  assert.deepEqual([share.isUnused, share.free, share.countFor('a1')], [true, 10, 5]);
});

test('an account that has nothing may take a large amount, and otherwise stays within its share', () => {
  const share = new FairShare(100, ownersOf('a1', 'b1'));
  assert.deepEqual([share.allows('a1', 101), share.allows('a1', 100)], [false, true]);
  share.take('a1', 20);
  assert.deepEqual([share.allows('a1', 80), share.allows('a1', 30)], [true, true]);
  share.take('a1', 30);
  assert.deepEqual([share.allows('a1', 1), share.allows('b1', 50), share.allows('b1', 51)], [false, true, false]);
});
