import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DatabaseTime } from './database-time.js';

/** Milliseconds by which the database's clock is ahead of the monotonic clock. */
const AHEAD = 1_800_000_000_000.25;

/** A database whose requests and responses take time. */
class Simulated {
  at = 1_000;
  ahead = AHEAD;
  readonly time = new DatabaseTime(() => this.at);

  ask(thereMs: number, backMs: number): void {
    const askedAt = this.at;
    this.at += thereMs;
    const now = this.at + this.ahead;
    this.at += backMs;
    this.time.addSample({ requestedAt: askedAt, respondedAt: this.at, now });
  }
  /** How far the reported time is ahead of the database's. */
  get error(): number {
    return this.time.now() - (this.at + this.ahead);
  }
}

describe('the estimate of the database clock', () => {
  test('before the first response, it equals the clock of the machine', () => {
    const time = new DatabaseTime();
    assert.ok(Math.abs(time.now() - Date.now()) < 1_000);
    assert.equal(time.uncertaintyMs, Number.POSITIVE_INFINITY);
  });

  test('a response that was slow in one direction causes an error of at most half the delay, which is reported', () => {
    const simulated = new Simulated();
    simulated.ask(40, 0);
    assert.equal(simulated.time.uncertaintyMs, 20);
    assert.ok(Math.abs(simulated.error) <= 21, `${simulated.error}`);
  });

  test('responses that are slow in opposite directions together give the exact time', () => {
    const simulated = new Simulated();
    simulated.ask(40, 0.2);
    simulated.ask(0.2, 40);
    assert.ok(simulated.time.uncertaintyMs < 0.3, `${simulated.time.uncertaintyMs}`);
    assert.ok(Math.abs(simulated.error) <= 1.3, `${simulated.error}`);
  });

  test('a slow response does not increase a small error; only the passage of time does', () => {
    const simulated = new Simulated();
    simulated.ask(0.2, 0.2);
    for (let n = 0; n < 50; n++) {
      simulated.at += 1_600;
      simulated.ask(30, 1);
      const known = simulated.time.uncertaintyMs;
      assert.ok(known <= 10, `${known} after ${n}`);
      assert.ok(Math.abs(simulated.error) <= known + 1, `${simulated.error}`);
    }
  });

  test('clocks that drift apart stay within the reported error', () => {
    const simulated = new Simulated();
    for (let n = 0; n < 500; n++) {
      simulated.at += 1_600;
      simulated.ahead += 0.08;
      simulated.ask((n * 7) % 23, (n * 5) % 19);
      const known = simulated.time.uncertaintyMs;
      assert.ok(Math.abs(simulated.error) <= known + 1, `${simulated.error} with ${known}`);
    }
  });

  test('after a better estimate, the clock pauses instead of running backwards, and does not stay ahead', () => {
    const simulated = new Simulated();
    // The estimate is 20 ms behind.
    simulated.ask(0, 40);
    const first = simulated.time.now();
    assert.ok(simulated.error < -18);
    simulated.ask(40, 0);
    const error = simulated.error;
    assert.ok(Math.abs(error) <= 1.3, `${error}`);
    assert.ok(simulated.time.now() >= first);

    const ahead = new Simulated();
    ahead.ask(40, 0);
    assert.ok(ahead.error > 18);
    const reported = ahead.time.now();
    ahead.ask(0.1, 0.1);
    assert.equal(ahead.time.now(), reported);
    ahead.at += 40;
    assert.ok(Math.abs(ahead.error) <= 1.3, `${ahead.error}`);
  });

  test('a change of the database clock is followed immediately', () => {
    const simulated = new Simulated();
    for (const ms of [-60_000, 45_000]) {
      simulated.ask(0.2, 0.2);
      simulated.time.now();
      simulated.ahead += ms;
      simulated.ask(3, 1);
      assert.ok(Math.abs(simulated.error) <= 3, `${simulated.error}`);
    }
  });
});
