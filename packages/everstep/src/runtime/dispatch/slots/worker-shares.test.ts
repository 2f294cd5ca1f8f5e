/** Deliveries to worker URLs in the queue: workflows of one app may share workers, or have workers of their own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_WORKERS, workersOf } from '../../../ports/workers.js';
import type { Delivery, DeliveryRef } from '../../gates/delivery.js';
import { FakeWorkers, ORDER, REFUND } from '../fake-workers.fixture.js';
import { ReadyQueue } from './ready-queue.js';

const ref = (runKey: string): DeliveryRef => ({ runKey, slot: 1 });
const toWorker = (url: string, runKey: string): Delivery => ({
  ...ref(runKey),
  limits: { instanceId: 'qi_1', flowControlKey: null, origin: url, workers: workersOf('qi_1', url) },
});
const [ORDERS, REFUNDS] = [workersOf('qi_1', ORDER), workersOf('qi_1', REFUND)];

/** Starts what may start, as the slot queue does, and ends deliveries in the order of their starts. */
class Work {
  readonly queue: ReadyQueue;
  readonly started: string[] = [];
  private readonly workers: FakeWorkers;
  private readonly inFlight: Delivery[] = [];

  constructor(workers: FakeWorkers) {
    this.workers = workers;
    this.queue = new ReadyQueue({ maxInFlight: 10_000, maxInFlightPerHost: 2, workers });
  }
  add(url: string, ...runKeys: readonly string[]): void {
    for (const runKey of runKeys) this.queue.add(toWorker(url, runKey), 'continuing', 0);
  }
  noteFreed(): void {
    for (const freedSlots of this.workers.takeFreed()) this.queue.slotsFreed(freedSlots);
  }
  drain(): void {
    this.noteFreed();
    this.queue.drain(
      () => Number.POSITIVE_INFINITY,
      (delivery) => {
        this.started.push(delivery.runKey);
        this.inFlight.push(delivery);
      },
    );
    this.queue.workers.endContention();
  }
  endOne(): void {
    const first = this.inFlight.shift();
    if (first) this.queue.done(first);
  }
}

const keys = (name: string, count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${name}${index}`);

test('a delivery starts when a worker that serves its workflow has a free slot', () => {
  const workers = new FakeWorkers();
  workers.setSlots(1, [REFUND], 'small');
  workers.setSlots(3, [ORDER], 'large');
  const work = new Work(workers);
  work.add(REFUND, ...keys('refund', 5));
  work.add(ORDER, ...keys('order', 5));
  work.drain();
  assert.deepEqual(work.started.slice().sort(), ['order0', 'order1', 'order2', 'refund0']);
  assert.deepEqual([work.queue.noSlotReason(ref('refund1')), work.queue.free(REFUNDS)], ['workers', 0]);
  work.queue.done(ref('refund0'));
  work.drain();
  assert.deepEqual(work.started.slice(4), ['refund1']);
});

test('a delivery uses a worker that serves several workflows while the other workers of its workflow are busy', () => {
  const workers = new FakeWorkers();
  workers.setSlots(1, [REFUND], 'refunds');
  workers.setSlots(1, [ORDER, REFUND], 'both');
  const work = new Work(workers);
  work.add(REFUND, 'refund0', 'refund1');
  work.add(ORDER, 'order0');
  work.drain();
  assert.deepEqual(work.started.length, 2);
  work.endOne();
  work.drain();
  work.endOne();
  work.drain();
  assert.deepEqual(work.started.slice().sort(), ['order0', 'refund0', 'refund1']);
});

test('deliveries do not wait for a slot while no worker serves their workflow', () => {
  const workers = new FakeWorkers();
  workers.setSlots(1, [ORDER]);
  const work = new Work(workers);
  work.add(ORDER, ...keys('order', 3));
  work.drain();
  assert.deepEqual(work.started, ['order0']);
  workers.setSlots(0, [ORDER]);
  work.drain();
  assert.deepEqual(work.started, keys('order', 3));
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 2, workers: NO_WORKERS });
  assert.equal(queue.free(ORDERS), 10);
});

test('workflows that share a worker take turns', () => {
  const workers = new FakeWorkers();
  const urls = keys('worker://shop/w', 4);
  workers.setSlots(1, urls);
  const work = new Work(workers);
  for (const url of urls) work.add(url, ...keys(url, 3));
  for (let turn = 0; turn < 8; turn++) {
    work.drain();
    work.endOne();
  }
  assert.deepEqual(work.started, [...urls.map((url) => `${url}0`), ...urls.map((url) => `${url}1`)]);
});

test('counted starts to workers wait for a slot, and other deliveries leave it free', () => {
  const workers = new FakeWorkers();
  workers.setSlots(1);
  const work = new Work(workers);
  for (const key of ['counted0', 'counted1']) work.queue.add(toWorker(ORDER, key), 'counted', 0);
  work.add(ORDER, 'other');
  for (const started of [['counted0'], ['counted0', 'counted1'], ['counted0', 'counted1', 'other']]) {
    work.drain();
    assert.deepEqual(work.started, started);
    work.endOne();
  }
});

test('no two workflows of a worker get the same slot for a counted start', () => {
  const workers = new FakeWorkers();
  workers.setSlots(1);
  const { queue, ...work } = new Work(workers);
  assert.deepEqual([queue.reservable(ORDERS), queue.reservable(REFUNDS)], [1, 1]);
  queue.reserve(ORDERS, 'qi_1', 1);
  assert.deepEqual([queue.free(ORDERS), queue.reservable(REFUNDS)], [1, 0]);
  queue.reserve(ORDERS, 'qi_1', -1);
  queue.add(toWorker(ORDER, 'order'), 'counted', 0);
  assert.deepEqual([queue.free(ORDERS), queue.free(REFUNDS), work.started.length], [0, 0, 0]);
  queue.clear();
  assert.deepEqual([queue.free(ORDERS), queue.free(REFUNDS)], [1, 1]);
});

test('a slot that is reserved for a counted start is not given to another workflow of the same worker', () => {
  const workers = new FakeWorkers();
  workers.setSlots(1);
  const work = new Work(workers);
  work.queue.reserve(ORDERS, 'qi_1', 1);
  work.add(REFUND, 'refund');
  work.drain();
  assert.deepEqual(work.started, []);
  work.queue.reserve(ORDERS, 'qi_1', -1);
  work.queue.add(toWorker(ORDER, 'order'), 'counted', 0);
  work.drain();
  assert.deepEqual(work.started, ['order']);
  work.endOne();
  work.drain();
  assert.deepEqual(work.started, ['order', 'refund']);
});

test('counted starts of one workflow and other deliveries of another take turns for the slots that they share', () => {
  const workers = new FakeWorkers();
  workers.setSlots(1);
  const work = new Work(workers);
  work.add(REFUND, ...keys('refund', 10));
  work.drain();
  for (let turn = 0; turn < 6; turn++) {
    work.endOne();
    work.noteFreed();
    if (work.queue.reservable(ORDERS) > 0) work.queue.add(toWorker(ORDER, `order${turn}`), 'counted', 0);
    work.drain();
  }
  assert.deepEqual(work.started, ['refund0', 'order0', 'refund1', 'order2', 'refund2', 'order4', 'refund3']);
});

test('counted starts of all workflows together get half of the slots that become free together', () => {
  const workers = new FakeWorkers();
  const urls = keys('worker://shop/w', 4);
  workers.setSlots(4, [REFUND, ...urls], 'shared');
  workers.setSlots(3, [ORDER], 'orders');
  const work = new Work(workers);
  const { queue } = work;
  work.add(REFUND, ...keys('refund', 20));
  for (let turn = 0; turn < 2; turn++) {
    work.drain();
    assert.equal(work.started.length, 4 * turn + 4);
    for (let ended = 0; ended < 4; ended++) work.endOne();
    work.noteFreed();
    queue.reserve(ORDERS, 'qi_1', 1);
    const reservableCounts = urls.map((url) => {
      const count = queue.reservable(workersOf('qi_1', url));
      if (count > 0) queue.reserve(workersOf('qi_1', url), 'qi_1', 1);
      return count;
    });
    assert.deepEqual(reservableCounts, [2, 1, 0, 0]);
    assert.equal(queue.reservable(workersOf('qi_1', urls[0] ?? '')), 1, 'the reserved slot');
    work.drain();
    assert.equal(work.started.length, 4 * turn + 6);
    for (const url of urls.slice(0, 2)) queue.reserve(workersOf('qi_1', url), 'qi_1', -1);
  }
});

test('counted starts do not leave slots to deliveries that other workers serve', () => {
  const workers = new FakeWorkers();
  workers.setSlots(1, [ORDER], 'orders');
  workers.setSlots(1, [REFUND], 'refunds');
  const work = new Work(workers);
  work.add(REFUND, 'refund0', 'refund1');
  work.queue.add(toWorker(ORDER, 'order0'), 'counted', 0);
  work.drain();
  work.queue.done(ref('order0'));
  work.noteFreed();
  assert.equal(work.queue.reservable(ORDERS), 1);
});

test('many workflows without a free slot cost nothing when others have one', () => {
  const workers = new FakeWorkers();
  const urls = keys('worker://shop/w', 1_000);
  for (let first = 0; first < 1_000; first += 50) workers.setSlots(1, urls.slice(first, first + 50), `worker${first}`);
  const work = new Work(workers);
  for (const url of urls) work.add(url, ...keys(url, 3));
  work.drain();
  assert.equal(work.started.length, 20);
  workers.checkCount = 0;
  work.drain();
  assert.equal(workers.checkCount, 0, 'no slot is free');
  for (let turn = 0; turn < 20; turn++) {
    work.endOne();
    work.drain();
  }
  assert.equal(work.started.length, 40);
  assert.ok(workers.checkCount <= 20 * 50 * 3, `${workers.checkCount} checks: more than the workflows of one worker`);
});
