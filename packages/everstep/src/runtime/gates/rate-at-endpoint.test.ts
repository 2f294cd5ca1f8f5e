/** Limits as an endpoint sees them: it counts requests when they arrive, and requests take their time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GateWorld } from './gates.fixture.js';
import { transitOf } from './rate-window.js';

const PERIOD_MS = 1_000;

/** Numbers below 1 that look random and are the same each time. */
function drawn(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** The most arrivals in a window: one begins with the first arrival after the last one ended. */
function mostInWindow(arrivals: readonly number[]): number {
  let [begin, count, most] = [Number.NEGATIVE_INFINITY, 0, 0];
  for (const at of arrivals) {
    if (at >= begin + PERIOD_MS) [begin, count] = [at, 0];
    most = Math.max(most, ++count);
  }
  return most;
}

class RequestLog {
  readonly world = new GateWorld();
  readonly seen: number[] = [];
  /** Before a request leaves: connecting, and whatever else is done at once. */
  connectMs = 0;
  /** How late the first one of all arrives: its endpoint is cold. */
  firstLateMs = 0;

  constructor(seed: number, answerMs: number) {
    const { world, seen } = this;
    const next = drawn(seed);
    world.transitMs = transitOf;
    world.sendsAtOnce = false;
    world.endpoint = (start, end, clock) => {
      const leaves = clock.now() + this.connectMs;
      clock.setTimer(leaves, () => world.gates.sent(start));
      const late = world.starts.length === 1 ? this.firstLateMs : 0;
      const arrives = leaves + late + Math.floor(next() * transitOf(PERIOD_MS));
      clock.setTimer(arrives, () => seen.push(clock.now()));
      clock.setTimer(arrives + answerMs, () => end({ kind: 'delivered' }));
    };
  }
}

test('a first window whose requests had to connect first does not end before its time at the endpoint', async () => {
  const arrivals = new RequestLog(3, 5);
  const { world } = arrivals;
  await world.trigger({ key: 'k', rate: 50, periodMs: PERIOD_MS });
  arrivals.connectMs = 60;
  world.offerMany(500, 'k');
  await world.pass(500);
  arrivals.connectMs = 0;
  await world.pass(8_500);
  assert.equal(mostInWindow(arrivals.seen), 50);
  assert.ok(arrivals.seen.length >= 9 * 50 * 0.95, `${arrivals.seen.length} arrivals`);
});

test('an endpoint that takes the first request late gets no more for that', async () => {
  const arrivals = new RequestLog(3, 1);
  const { world } = arrivals;
  await world.trigger({ key: 'k', parallelism: 1, rate: 50, periodMs: PERIOD_MS });
  arrivals.firstLateMs = transitOf(PERIOD_MS);
  world.offerMany(500, 'k');
  await world.pass(9_000);
  assert.equal(mostInWindow(arrivals.seen), 50);
  assert.ok(arrivals.seen.length >= 9 * 50 * 0.95, `${arrivals.seen.length} arrivals`);
});

test('what starts late in a window does not arrive in the next one', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const arrivals = new RequestLog(seed, 80 + seed);
    const { world } = arrivals;
    await world.trigger({ key: 'k', rate: 20, parallelism: 2, periodMs: PERIOD_MS });
    world.offerMany(1_000, 'k');
    await world.pass(20_000);
    assert.ok(mostInWindow(arrivals.seen) <= 20, `seed ${seed}: ${mostInWindow(arrivals.seen)} in a window`);
    const fits = Math.min(20, (2 * PERIOD_MS) / (86 + seed));
    assert.ok(arrivals.seen.length >= 20 * fits * 0.95, `seed ${seed}: ${arrivals.seen.length} arrivals`);
  }
});

test('after a crash the window is as long as it may have been at the endpoint', async () => {
  const arrivals = new RequestLog(5, 1);
  const { world } = arrivals;
  await world.trigger({ key: 'k', rate: 10, periodMs: PERIOD_MS });
  arrivals.connectMs = 50;
  world.offerMany(10, 'k');
  await world.pass(200);
  world.crash();
  arrivals.connectMs = 0;
  world.offerMany(30, 'k');
  await world.pass(3_000);
  assert.equal(mostInWindow(arrivals.seen), 10);
  assert.ok(arrivals.seen.length >= 30, `${arrivals.seen.length} arrivals`);
});

test('a window whose first request never left ends all the same', async () => {
  const { world } = new RequestLog(7, 1);
  world.endpoint = (_start, end, clock) => {
    clock.setTimer(clock.now() + 1, () => end({ kind: 'failed', error: 'nobody listens' }));
  };
  await world.trigger({ key: 'k', rate: 1, periodMs: PERIOD_MS });
  world.offerMany(3, 'k');
  await world.pass(3_000);
  assert.equal(world.starts.length, 3);
});
