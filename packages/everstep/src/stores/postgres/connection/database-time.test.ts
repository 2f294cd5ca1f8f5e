import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DatabaseTime } from './database-time.js';

/** Milliseconds by which the database's clock is ahead of the monotonic clock. */
const AHEAD = 1_800_000_000_000.25;

/** A database whose answers take time in both directions. */
class Simulated {
  at = 1_000;
  ahead = AHEAD;
  readonly time = new DatabaseTime(() => this.at);

  ask(thereMs: number, backMs: number): void {
    const askedAt = this.at;
    this.at += thereMs;
    const now = this.at + this.ahead;
    this.at += backMs;
    this.time.learn({ askedAt, answeredAt: this.at, now });
  }
  /** How far the reported time is ahead of the database's. */
  get error(): number {
    return this.time.now() - (this.at + this.ahead);
  }
}

describe('the database’s clock as a node knows it', () => {
  test("before the first answer it is the machine's clock", () => {
    const time = new DatabaseTime();
    assert.ok(Math.abs(time.now() - Date.now()) < 1_000);
    assert.equal(time.uncertaintyMs, Number.POSITIVE_INFINITY);
  });

  test('an answer that was slow in one direction only has an error of at most half of that, and reports it', () => {
    const simulated = new Simulated();
    simulated.ask(40, 0);
    assert.equal(simulated.time.uncertaintyMs, 20);
    assert.ok(Math.abs(simulated.error) <= 21, `${simulated.error}`);
  });

  test('answers that are slow in different directions make the time exact together', () => {
    const simulated = new Simulated();
    simulated.ask(40, 0.2);
    simulated.ask(0.2, 40);
    assert.ok(simulated.time.uncertaintyMs < 0.3, `${simulated.time.uncertaintyMs}`);
    assert.ok(Math.abs(simulated.error) <= 1.3, `${simulated.error}`);
  });

  test('a slow answer does not increase a small error; only time does', () => {
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

  test('clocks that drift apart do not exceed the reported error', () => {
    const simulated = new Simulated();
    for (let n = 0; n < 500; n++) {
      simulated.at += 1_600;
      simulated.ahead += 0.08;
      simulated.ask((n * 7) % 23, (n * 5) % 19);
      const known = simulated.time.uncertaintyMs;
      assert.ok(Math.abs(simulated.error) <= known + 1, `${simulated.error} with ${known}`);
    }
  });

  test('when the time is known better, the clock stands still, and neither runs backwards nor stays ahead', () => {
    const simulated = new Simulated();
    // Ahead by 20 ms as far as is known.
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
    const told = ahead.time.now();
    ahead.ask(0.1, 0.1);
    assert.equal(ahead.time.now(), told);
    ahead.at += 40;
    assert.ok(Math.abs(ahead.error) <= 1.3, `${ahead.error}`);
  });

  test('a database whose clock was set is followed at once', () => {
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
