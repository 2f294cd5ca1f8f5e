import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createElapsedClock, createSystemClock } from './system-clock.js';
import { createSystemRandom } from './system-random.js';

test("the clock continues from its last value when the machine's time is set back", () => {
  let wallMs = 10_000;
  const clock = createSystemClock({ wall: () => wallMs });
  assert.equal(clock.now(), 10_000);
  wallMs = 4_000;
  assert.equal(clock.now(), 10_000);
  wallMs = 4_250;
  assert.equal(clock.now(), 10_250);
  wallMs = 20_000;
  assert.ok(clock.now() >= 20_000);
});

test('the clock does not start before the latest recorded time, and moves on from there', () => {
  let wallMs = 1_000;
  const clock = createSystemClock({ notBefore: 5_000, wall: () => wallMs });
  assert.equal(clock.now(), 5_000);
  wallMs += 7;
  assert.equal(clock.now(), 5_007);
});

test('a timer fires once, at its time or later', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 });
  const clock = createSystemClock({ wall: () => Date.now() });
  const fired: number[] = [];
  clock.setTimer(150_000, () => fired.push(clock.now()));
  t.mock.timers.tick(149_999);
  assert.deepEqual(fired, []);
  t.mock.timers.tick(1);
  t.mock.timers.tick(300_000);
  assert.equal(fired.length, 1);
  assert.ok((fired[0] ?? 0) >= 150_000);
});

test('a canceled timer does not fire, even after it was rearmed', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 });
  const clock = createSystemClock({ wall: () => Date.now() });
  let fired = false;
  const cancel = clock.setTimer(150_000, () => {
    fired = true;
  });
  t.mock.timers.tick(100_000);
  cancel();
  t.mock.timers.tick(100_000);
  assert.equal(fired, false);
});

test('a clock of elapsed time does not change when the time of the machine is set', (t) => {
  const clock = createElapsedClock();
  const before = clock.now();
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 86_400_000 });
  const elapsed = clock.now() - before;
  assert.ok(elapsed >= 0 && elapsed < 3_600_000, String(elapsed));
});

test('an end-of-turn callback runs after the current turn', async () => {
  const order: string[] = [];
  const clock = createSystemClock();
  await new Promise<void>((done) => {
    clock.endOfTurn(() => {
      order.push('end');
      done();
    });
    queueMicrotask(() => order.push('microtask'));
    order.push('now');
  });
  assert.deepEqual(order, ['now', 'microtask', 'end']);
});

test('returned random bytes are neither changed nor returned again', () => {
  const random = createSystemRandom();
  const seen = new Set<string>();
  const first = random.bytes(16);
  const copy = Buffer.from(first).toString('hex');
  for (let i = 0; i < 2_000; i++) seen.add(Buffer.from(random.bytes(16)).toString('hex'));
  assert.equal(seen.size, 2_000);
  assert.equal(Buffer.from(first).toString('hex'), copy);
  assert.equal(random.bytes(10_000).length, 10_000);
});
