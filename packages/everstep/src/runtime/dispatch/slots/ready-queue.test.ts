import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownersOf } from '../../../fairness/owners.fixture.js';
import type { Delivery, DeliveryRef } from '../../gates/delivery.js';
import { ReadyQueue } from './ready-queue.js';

const ref = (runKey: string): DeliveryRef => ({ runKey, slot: 1 });
const to = (origin: string, runKey: string, instanceId = 'qi_1'): Delivery => ({
  ...ref(runKey),
  limits: { instanceId, flowControlKey: null, origin },
});

test('destinations take turns for a slot, so two busy ones do not starve a third', () => {
  const queue = new ReadyQueue({ maxInFlight: 4, maxInFlightPerHost: 2 });
  const started: Delivery[] = [];
  const drain = () =>
    queue.drain(
      () => Number.POSITIVE_INFINITY,
      (delivery) => started.push(delivery),
    );
  for (const host of ['a', 'b', 'c']) for (let i = 0; i < 10; i++) queue.add(to(host, `${host}${i}`), 'continuing', 0);
  drain();
  for (let i = 0; i < 12; i++) {
    const over = started[i];
    assert.ok(over);
    queue.done(over);
    drain();
  }
  const served = (host: string) => started.filter((other) => other.limits.origin === host).length;
  assert.deepEqual([served('a'), served('b'), served('c')].sort(), [5, 5, 6]);
});

test('the deliveries to one destination start in order up to its limit', () => {
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 3 });
  for (let i = 0; i < 5; i++) queue.add(to('a', `r${i}`), 'continuing', 0);
  const started: string[] = [];
  queue.drain(
    () => 0,
    ({ runKey }) => started.push(runKey),
  );
  assert.deepEqual(started, ['r0', 'r1', 'r2']);
});

test('the queue returns how many more deliveries could start, at one destination and in total', () => {
  const queue = new ReadyQueue({ maxInFlight: 4, maxInFlightPerHost: 3 });
  assert.equal(queue.reservable('a'), 3);
  for (const key of ['r0', 'r1']) queue.add(to('a', key), 'continuing', 0);
  assert.deepEqual([queue.reservable('a'), queue.reservable('b')], [1, 3]);
  queue.drain(
    () => 0,
    () => {},
  );
  assert.deepEqual([queue.reservable('a'), queue.reservable('b')], [1, 2]);
  assert.deepEqual([queue.isInFlight(ref('r0')), queue.isInFlight(ref('r9'))], [true, false]);
  queue.done(ref('r0'));
  assert.equal(queue.reservable('a'), 2);
});

/** Starts what may start, and ends deliveries in the order of their starts. */
class Work {
  readonly queue: ReadyQueue;
  readonly started: string[] = [];
  private readonly inFlight: Delivery[] = [];
  constructor(queue: ReadyQueue) {
    this.queue = queue;
  }
  drain(freshAllowed = Number.POSITIVE_INFINITY): void {
    this.queue.drain(
      () => freshAllowed,
      (delivery) => {
        this.started.push(delivery.runKey);
        this.inFlight.push(delivery);
      },
    );
  }
  endOne(): void {
    const first = this.inFlight.shift();
    if (first) this.queue.done(first);
  }
}

test('every other slot for which deliveries wait may be reserved, and no other delivery takes it', () => {
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 2 });
  const work = new Work(queue);
  for (let i = 0; i < 20; i++) queue.add(to('a', `other${i}`), 'continuing', 0);
  work.drain();
  assert.equal(queue.reservable('a'), 0);
  for (let turn = 0; turn < 8; turn++) {
    work.endOne();
    if (queue.reservable('a') > 0) {
      queue.reserve('a', 'qi_1', 1);
      work.drain();
      queue.reserve('a', 'qi_1', -1);
      queue.add(to('a', `counted${turn}`), 'counted', 0);
    }
    work.drain();
  }
  const counted = work.started.filter((runKey) => runKey.startsWith('counted'));
  assert.deepEqual([work.started.length, counted.length], [10, 4]);
});

test('many deliveries that wait for one destination leave the slots of another free', () => {
  const queue = new ReadyQueue({ maxInFlight: 8, maxInFlightPerHost: 4 });
  for (let i = 0; i < 100; i++) queue.add(to('slow', `slow${i}`), 'continuing', 0);
  new Work(queue).drain();
  assert.deepEqual([queue.reservable('slow'), queue.reservable('idle')], [0, 4]);
});

test('when all slots are taken, a destination without waiting deliveries gets its turn as well', () => {
  const queue = new ReadyQueue({ maxInFlight: 2, maxInFlightPerHost: 2 });
  const work = new Work(queue);
  for (const host of ['a', 'b']) for (let i = 0; i < 10; i++) queue.add(to(host, `${host}${i}`), 'continuing', 0);
  work.drain();
  work.endOne();
  assert.equal(queue.reservable('c'), 1);
  queue.reserve('c', 'qi_1', 1);
  work.drain();
  assert.equal(work.started.length, 2);
  work.endOne();
  assert.deepEqual([queue.reservable('c') > 1, queue.free('a')], [false, 1]);
  work.drain();
  assert.equal(work.started.length, 3);
});

test('a counted start does not wait for the end of a burst of new runs', () => {
  const queue = new ReadyQueue({ maxInFlight: 8, maxInFlightPerHost: 8 });
  const work = new Work(queue);
  for (let i = 0; i < 100; i++) queue.add(to('a', `new${i}`), 'fresh', 0);
  work.drain(0);
  assert.equal(queue.reservable('a'), 4);
  queue.add(to('a', 'counted'), 'counted', 0);
  work.drain(0);
  assert.deepEqual(work.started, ['counted']);
});

test('an instance at its limit does not block others at the same destination', () => {
  const maxInFlightOf = (id: string) => (id === 'qi_1' ? 2 : null);
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 10, maxInFlightOf });
  for (let i = 0; i < 4; i++) queue.add(to('a', `r${i}`), 'continuing', 0);
  for (let i = 0; i < 4; i++) queue.add(to('a', `s${i}`, 'qi_2'), 'continuing', 0);
  queue.add(to('b', 'r4'), 'continuing', 0);
  const started: string[] = [];
  const drain = () =>
    queue.drain(
      () => 0,
      ({ runKey }) => started.push(runKey),
    );
  drain();
  assert.deepEqual(started, ['r0', 's0', 'r4', 's1', 's2', 's3']);
  assert.deepEqual([queue.inFlightOf('qi_1'), queue.inFlightOf('qi_2')], [2, 4]);
  assert.equal(queue.reservable('a'), 4);
  queue.done(ref('r4'));
  drain();
  assert.deepEqual(started.slice(6), ['r1']);
});

test('the queue returns how many more deliveries of an instance could start, even after its limit was lowered or raised', () => {
  let max: number | null = 3;
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 10, maxInFlightOf: () => max });
  const work = new Work(queue);
  for (let i = 0; i < 5; i++) queue.add(to(`h${i}`, `r${i}`), 'continuing', 0);
  work.drain();
  assert.deepEqual([work.started.length, queue.freeOf('qi_1')], [3, 0]);
  max = 2;
  work.endOne();
  work.drain();
  assert.deepEqual([work.started.length, queue.freeOf('qi_1')], [3, 0]);
  work.endOne();
  work.drain();
  assert.equal(work.started.length, 4);
  max = null;
  work.drain();
  assert.deepEqual([work.started.length, queue.reservableOf('qi_1')], [5, Number.POSITIVE_INFINITY]);
});

test('every other slot of an instance for which deliveries wait may be reserved, and no other delivery takes it', () => {
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 10, maxInFlightOf: () => 1 });
  const work = new Work(queue);
  for (let i = 0; i < 20; i++) queue.add(to('a', `other${i}`), 'continuing', 0);
  work.drain();
  assert.equal(queue.reservableOf('qi_1'), 0);
  for (let turn = 0; turn < 8; turn++) {
    work.endOne();
    if (queue.reservableOf('qi_1') > 0) {
      queue.reserve('b', 'qi_1', 1);
      work.drain();
      assert.equal(queue.inFlight, 0);
      queue.reserve('b', 'qi_1', -1);
      queue.add(to('b', `counted${turn}`), 'counted', 0);
    }
    work.drain();
    assert.equal(queue.inFlight, 1);
  }
  const counted = work.started.filter((runKey) => runKey.startsWith('counted'));
  assert.deepEqual([work.started.length, counted.length], [9, 4]);
});

/** Deliveries that never end. */
function hold(
  queue: ReadyQueue,
  instanceId: string,
  count: number,
  host = (index: number) => `h${index % 4}.${instanceId}`,
): void {
  for (let i = 0; i < count; i++) queue.add(to(host(i), `${instanceId}-${i}-${queue.size}`, instanceId), 'continuing', 0);
  queue.drain(
    () => Number.POSITIVE_INFINITY,
    () => {},
  );
}

const SHARED = { maxInFlight: 512, maxInFlightPerHost: 256 };

for (const hogs of [1, 2, 3, 8]) {
  test(`${hogs} accounts with as many slots as they can get leave enough for a later one`, () => {
    const names = Array.from({ length: hogs }, (_, index) => `hog${'x'.repeat(index)}1`);
    const queue = new ReadyQueue({ ...SHARED, owners: ownersOf(...names, 'quiet1') });
    for (const name of names) hold(queue, name, 600);
    for (const name of names) assert.ok(queue.inFlightOf(name) <= 256, `${name} has ${queue.inFlightOf(name)}`);
    const left = 512 - queue.inFlight;
    assert.ok(left >= 512 / (2 * hogs), `${left} are left`);
    hold(queue, 'quiet1', 5);
    assert.equal(queue.inFlightOf('quiet1'), 5);
  });
}

test('one account with the only instance may use all slots', () => {
  const queue = new ReadyQueue({ ...SHARED, owners: ownersOf('only1') });
  hold(queue, 'only1', 600);
  assert.deepEqual([queue.inFlight, queue.maxInFlightOf('only1')], [512, 512]);
});

test('an instance with as many slots as it can get leaves some for other instances of its account', () => {
  const queue = new ReadyQueue({ ...SHARED, owners: ownersOf('shop1', 'shop2') });
  hold(queue, 'shop1', 600);
  assert.equal(queue.inFlight, 256);
  hold(queue, 'shop2', 20);
  assert.equal(queue.inFlightOf('shop2'), 20);
});

test('an account that takes connections to a host leaves some of them to others', () => {
  const queue = new ReadyQueue({ ...SHARED, owners: ownersOf('hog1', 'quiet1') });
  hold(queue, 'hog1', 600, () => 'events.shop');
  assert.equal(queue.inFlight, 128);
  hold(queue, 'quiet1', 20, () => 'events.shop');
  assert.equal(queue.inFlightOf('quiet1'), 20);
});

test('long deliveries never take all slots and do not block others', () => {
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 10, maxLongInFlight: 4 });
  const work = new Work(queue);
  for (let i = 0; i < 20; i++) {
    const long = to('a', `long${i}`);
    queue.add({ ...long, limits: { ...long.limits, isLong: true } }, 'continuing', 0);
  }
  for (let i = 0; i < 8; i++) queue.add(to('a', `short${i}`), 'continuing', 0);
  work.drain();
  const longs = work.started.filter((runKey) => runKey.startsWith('long'));
  assert.deepEqual([work.started.length, longs.length], [10, 4]);
  assert.equal(queue.noSlotReason({ runKey: 'long9', slot: 1 }), 'slots');
  for (let i = 0; i < 10; i++) work.endOne();
  work.drain();
  assert.deepEqual([work.started.length, queue.noSlotReason({ runKey: 'long9', slot: 1 })], [16, 'long-deliveries']);
});

test('the queue returns the limit that a delivery waits for', () => {
  const maxInFlightOf = (instanceId: string) => (instanceId === 'planned1' ? 1 : null);
  const limits = { maxInFlight: 16, maxInFlightPerHost: 6, maxLongInFlight: 4, maxInFlightOf };
  const queue = new ReadyQueue({ ...limits, owners: ownersOf('hog1', 'planned1', 'quiet1') });
  hold(queue, 'planned1', 2);
  hold(queue, 'quiet1', 5, () => 'shop');
  hold(queue, 'hog1', 12);
  const because = (runKey: string) => queue.noSlotReason({ runKey, slot: 1 });
  const waiting = [...Array(20).keys()].map((i) => because(`hog1-${i}-${i + 7}`)).filter((reason) => reason !== null);
  assert.deepEqual([because('planned1-1-1'), because('quiet1-3-5')], ['plan', 'host']);
  assert.deepEqual(new Set(waiting), new Set(['fair-share']));
  assert.equal(because('planned1-0-0'), null, 'it is in flight');
});

test('while deliveries must not start, the queue returns the same limits, and has no free slots', () => {
  let isOpen = true;
  const limits = { maxInFlight: 16, maxInFlightPerHost: 2, maxInFlightOf: () => 8, mayStart: () => isOpen };
  const queue = new ReadyQueue(limits);
  const work = new Work(queue);
  for (let i = 0; i < 3; i++) queue.add(to('shop', `r${i}`), 'continuing', 0);
  work.drain();
  isOpen = false;
  queue.add(to('other', 'r3'), 'continuing', 0);
  work.drain();
  assert.equal(work.started.length, 2);
  const because = (runKey: string) => queue.noSlotReason({ runKey, slot: 1 });
  assert.deepEqual([because('r2'), because('r3'), queue.maxInFlightOf('qi_1'), queue.freeOf('qi_1')], ['host', null, 8, 0]);
  isOpen = true;
  work.drain();
  assert.equal(work.started.length, 3);
});

test('accounts take turns, however many hosts each of them calls', () => {
  const queue = new ReadyQueue({ maxInFlight: 2, maxInFlightPerHost: 2, owners: ownersOf('many1', 'one1') });
  const work = new Work(queue);
  for (let i = 0; i < 100; i++) queue.add(to(`h${i}`, `many${i}`, 'many1'), 'continuing', 0);
  for (let i = 0; i < 10; i++) queue.add(to('x', `one${i}`, 'one1'), 'continuing', 0);
  for (let i = 0; i < 19; i++) {
    work.drain();
    work.endOne();
  }
  assert.equal(work.started.slice(0, 20).filter((runKey) => runKey.startsWith('one')).length, 10);
});

test('an account at its share costs others no time, however many deliveries it has queued', () => {
  const queue = new ReadyQueue({ ...SHARED, owners: ownersOf('hog1', 'quiet1') });
  hold(queue, 'hog1', 50_000, (index) => `h${index}`);
  const startedAt = performance.now();
  for (let i = 0; i < 1_000; i++) {
    queue.add(to('x', `quiet${i}`, 'quiet1'), 'continuing', 0);
    queue.drain(
      () => Number.POSITIVE_INFINITY,
      () => {},
    );
    queue.done(ref(`quiet${i}`));
  }
  // This takes about 10 ms. Checking every host each time took 50 s.
  assert.ok(performance.now() - startedAt < 1_000, `${performance.now() - startedAt} ms`);
});

test('first deliveries of one instance are held back while those of another start', () => {
  const queue = new ReadyQueue({ maxInFlight: 8, maxInFlightPerHost: 8 });
  for (let i = 0; i < 4; i++) queue.add(to('a', `burst${i}`, 'qi_1'), 'fresh', i);
  queue.add(to('a', 'calm', 'qi_2'), 'fresh', 9);
  const started: string[] = [];
  queue.drain(
    (instanceId) => (instanceId === 'qi_1' ? 1 : Number.POSITIVE_INFINITY),
    ({ runKey }) => started.push(runKey),
  );
  assert.deepEqual(started, ['burst0', 'calm']);
  assert.deepEqual({ ...queue.freshOf('qi_1') }, { count: 3, oldestSince: 1 });
  assert.deepEqual({ ...queue.freshOf('qi_2') }, { count: 0, oldestSince: Number.POSITIVE_INFINITY });
});
