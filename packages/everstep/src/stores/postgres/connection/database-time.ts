/**
 * The database's clock, as this process knows it. What the database told it told at some moment between the question
 * and the answer: so each answer says between which bounds its clock is ahead of the monotonic one, and all of them
 * together say it closer than any. What is kept of earlier ones grows wider as the two clocks drift apart.
 */
import type { Told } from '../cluster/node-lease.js';

/** Two clocks that nobody sets drift apart by less than this, in ms of each ms. */
const DRIFT = 1e-4;
/** What is known better may make this clock stand still for so long; when it was that far ahead, the database's was set back. */
const LONGEST_STANDSTILL_MS = 1_000;

export class DatabaseTime {
  private readonly monotonic: () => number;
  /** Between these the database's clock is ahead of the monotonic one, as it was known at `learntAt`. */
  private low = Number.NEGATIVE_INFINITY;
  private high = Number.POSITIVE_INFINITY;
  private learntAt = 0;
  private latest = Number.NEGATIVE_INFINITY;

  /** `monotonic`: ms of the clock that the samples are measured by. */
  constructor(monotonic: () => number = () => performance.now()) {
    this.monotonic = monotonic;
  }

  /** An answer that contradicts those before says that the database's clock was set, or is another's: then it alone counts. */
  learn({ askedAt, answeredAt, now }: Told): void {
    const drift = this.driftUntil(answeredAt);
    const told = { low: now - answeredAt, high: now - askedAt };
    const low = Math.max(told.low, this.low - drift);
    const high = Math.min(told.high, this.high + drift);
    [this.low, this.high] = low <= high ? [low, high] : [told.low, told.high];
    this.learntAt = Math.max(this.learntAt, answeredAt);
  }

  /** By how much `now` may be wrong at most, in ms; infinite before anything was told. */
  get uncertaintyMs(): number {
    return (this.high - this.low) / 2 + this.driftUntil(this.monotonic());
  }

  /** Unix ms; the machine's own time before anything was told. What is known better later does not make it go backwards. */
  now(): number {
    if (this.high === Number.POSITIVE_INFINITY) return Date.now();
    const told = Math.floor(this.monotonic() + (this.low + this.high) / 2);
    if (told > this.latest || this.latest - told > LONGEST_STANDSTILL_MS) this.latest = told;
    return this.latest;
  }

  private driftUntil(at: number): number {
    return Math.max(0, at - this.learntAt) * DRIFT;
  }
}
