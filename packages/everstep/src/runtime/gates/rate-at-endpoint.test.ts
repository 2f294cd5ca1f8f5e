/** Rates as an endpoint sees them: it counts requests when they arrive, after a delay. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GateHarness } from './gates.fixture.js';
import { maxTransitMs } from './rate-window.js';

const PERIOD_MS = 1_000;

/** Returns pseudo-random numbers below 1, the same each time. */
function drawn(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/**
 * Returns the largest number of requests in a window. A window starts with the first arrival after the previous one has ended.
 */
function mostInWindow(requests: readonly number[]): number {
  let [begin, count, max] = [Number.NEGATIVE_INFINITY, 0, 0];
  for (const at of requests) {
    if (at >= begin + PERIOD_MS) [begin, count] = [at, 0];
    max = Math.max(max, ++count);
  }
  return max;
}

class RequestLog {
  readonly harness = new GateHarness();
  readonly seen: number[] = [];
  /** Time until a request is sent: it has to connect first. */
  connectMs = 0;
  /** Additional delay of the very first request, because its endpoint is cold. */
  firstLateMs = 0;

  constructor(seed: number, responseMs: number) {
    const { harness, seen } = this;
    const next = drawn(seed);
    harness.transitMs = maxTransitMs;
    harness.sendsAtOnce = false;
    harness.endpoint = (start, end, clock) => {
      const leaves = clock.now() + this.connectMs;
      clock.setTimer(leaves, () => harness.gates.onRequestSent(start));
      const late = harness.starts.length === 1 ? this.firstLateMs : 0;
      const arrives = leaves + late + Math.floor(next() * maxTransitMs(PERIOD_MS));
      clock.setTimer(arrives, () => seen.push(clock.now()));
      clock.setTimer(arrives + responseMs, () => end({ kind: 'delivered' }));
    };
  }
}

test('a first window whose requests had to connect does not end early at the endpoint', async () => {
  const requests = new RequestLog(3, 5);
  const { harness } = requests;
  await harness.trigger({ key: 'k', rate: 50, periodMs: PERIOD_MS });
  requests.connectMs = 60;
  harness.offerMany(500, 'k');
  await harness.passTime(500);
  requests.connectMs = 0;
  await harness.passTime(8_500);
  assert.equal(mostInWindow(requests.seen), 50);
  assert.ok(requests.seen.length >= 9 * 50 * 0.95, `${requests.seen.length} requests`);
});

test('an endpoint that accepts the first request late gets no additional requests because of the delay', async () => {
  const requests = new RequestLog(3, 1);
  const { harness } = requests;
  await harness.trigger({ key: 'k', parallelism: 1, rate: 50, periodMs: PERIOD_MS });
  requests.firstLateMs = maxTransitMs(PERIOD_MS);
  harness.offerMany(500, 'k');
  await harness.passTime(9_000);
  assert.equal(mostInWindow(requests.seen), 50);
  assert.ok(requests.seen.length >= 9 * 50 * 0.95, `${requests.seen.length} requests`);
});

test('a request that starts late in a window does not arrive in the next one', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const requests = new RequestLog(seed, 80 + seed);
    const { harness } = requests;
    await harness.trigger({ key: 'k', rate: 20, parallelism: 2, periodMs: PERIOD_MS });
    harness.offerMany(1_000, 'k');
    await harness.passTime(20_000);
    assert.ok(mostInWindow(requests.seen) <= 20, `seed ${seed}: ${mostInWindow(requests.seen)} in a window`);
    const fits = Math.min(20, (2 * PERIOD_MS) / (86 + seed));
    assert.ok(requests.seen.length >= 20 * fits * 0.95, `seed ${seed}: ${requests.seen.length} requests`);
  }
});

test('after a crash the window is as long as it may have been at the endpoint', async () => {
  const requests = new RequestLog(5, 1);
  const { harness } = requests;
  await harness.trigger({ key: 'k', rate: 10, periodMs: PERIOD_MS });
  requests.connectMs = 50;
  harness.offerMany(10, 'k');
  await harness.passTime(200);
  harness.crash();
  requests.connectMs = 0;
  harness.offerMany(30, 'k');
  await harness.passTime(3_000);
  assert.equal(mostInWindow(requests.seen), 10);
  assert.ok(requests.seen.length >= 30, `${requests.seen.length} requests`);
});

test('a window whose first request is never sent ends as well', async () => {
  const { harness } = new RequestLog(7, 1);
  harness.endpoint = (_start, end, clock) => {
    clock.setTimer(clock.now() + 1, () => end({ kind: 'failed', error: 'connection refused' }));
  };
  await harness.trigger({ key: 'k', rate: 1, periodMs: PERIOD_MS });
  harness.offerMany(3, 'k');
  await harness.passTime(3_000);
  assert.equal(harness.starts.length, 3);
});
