/**
 * Estimates the database's clock. The database read its clock at some moment between request and response. Each response therefore
 * bounds how far that clock is ahead of the monotonic one. All responses together give narrower bounds than any single one. Bounds
 * from earlier responses widen as the two clocks drift apart.
 */
import type { TimeSample } from '../cluster/node-lease.js';

/** Maximum rate at which two clocks drift apart while neither is set, in ms per ms. */
const MAX_DRIFT = 1e-4;
/** Maximum time for which a correction stops this clock. If the clock is further ahead, the database's clock was set back. */
const MAX_STANDSTILL_MS = 1_000;

export class DatabaseTime {
  private readonly monotonic: () => number;
  /** Bounds of how far the database's clock is ahead of the monotonic one, in ms, as of `boundedAt`. */
  private low = Number.NEGATIVE_INFINITY;
  private high = Number.POSITIVE_INFINITY;
  private boundedAt = 0;
  private latestTime = Number.NEGATIVE_INFINITY;

  /** `monotonic` returns the milliseconds of the clock that the samples use. */
  constructor(monotonic: () => number = () => performance.now()) {
    this.monotonic = monotonic;
  }

  /** Narrows the bounds. If the sample contradicts them, the clock was set or is another one, and only this sample counts. */
  addSample({ requestedAt, respondedAt, now }: TimeSample): void {
    const drift = this.driftUntil(respondedAt);
    const bounds = { low: now - respondedAt, high: now - requestedAt };
    const low = Math.max(bounds.low, this.low - drift);
    const high = Math.min(bounds.high, this.high + drift);
    [this.low, this.high] = low <= high ? [low, high] : [bounds.low, bounds.high];
    this.boundedAt = Math.max(this.boundedAt, respondedAt);
  }

  /** Maximum error of `now` in ms; infinite before the first response. */
  get uncertaintyMs(): number {
    return (this.high - this.low) / 2 + this.driftUntil(this.monotonic());
  }

  /** Returns Unix ms; the machine's own time before the first response. Corrections never make the clock run backward. */
  now(): number {
    if (this.high === Number.POSITIVE_INFINITY) return Date.now();
    const time = Math.floor(this.monotonic() + (this.low + this.high) / 2);
    if (time > this.latestTime || this.latestTime - time > MAX_STANDSTILL_MS) this.latestTime = time;
    return this.latestTime;
  }

  private driftUntil(at: number): number {
    return Math.max(0, at - this.boundedAt) * MAX_DRIFT;
  }
}
