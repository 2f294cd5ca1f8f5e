/**
 * Estimates the database's clock. The database read its clock at some moment between request and response. Each
 * response therefore bounds how far that clock is ahead of the monotonic one. All of them together give narrower bounds than any
 * single one. Bounds from earlier responses widen as the two clocks drift apart.
 */
import type { TimeSample } from '../cluster/node-lease.js';

/** Two clocks that are not set drift apart by less than this, in ms per ms. */
const DRIFT = 1e-4;
/** A correction may make this clock stand still for this long; if it was further ahead, the database's clock was set back. */
const LONGEST_STANDSTILL_MS = 1_000;

export class DatabaseTime {
  private readonly monotonic: () => number;
  /** The database's clock is ahead of the monotonic one by a value between these, as known at `learnedAt`. */
  private low = Number.NEGATIVE_INFINITY;
  private high = Number.POSITIVE_INFINITY;
  private learnedAt = 0;
  private latest = Number.NEGATIVE_INFINITY;

  /** `monotonic` returns the milliseconds of the clock that the samples use. */
  constructor(monotonic: () => number = () => performance.now()) {
    this.monotonic = monotonic;
  }

  /** Learns from a sample. If it contradicts earlier ones, the clock was set or is another one, and only this sample counts. */
  learn({ requestedAt, respondedAt, now }: TimeSample): void {
    const drift = this.driftUntil(respondedAt);
    const bounds = { low: now - respondedAt, high: now - requestedAt };
    const low = Math.max(bounds.low, this.low - drift);
    const high = Math.min(bounds.high, this.high + drift);
    [this.low, this.high] = low <= high ? [low, high] : [bounds.low, bounds.high];
    this.learnedAt = Math.max(this.learnedAt, respondedAt);
  }

  /** Maximum error of `now` in ms; infinite before the first response. */
  get uncertaintyMs(): number {
    return (this.high - this.low) / 2 + this.driftUntil(this.monotonic());
  }

  /** Returns Unix ms; the machine's own time before the first response. Corrections never make the clock run backwards. */
  now(): number {
    if (this.high === Number.POSITIVE_INFINITY) return Date.now();
    const time = Math.floor(this.monotonic() + (this.low + this.high) / 2);
    if (time > this.latest || this.latest - time > LONGEST_STANDSTILL_MS) this.latest = time;
    return this.latest;
  }

  private driftUntil(at: number): number {
    return Math.max(0, at - this.learnedAt) * DRIFT;
  }
}
