/** The database's clock, as this process knows it: what it told, and the monotonic clock since. */
import type { Told } from './node-lease.js';

/** What was told with less delay counts for so long against what is told later with more. */
const FORGET_AFTER_MS = 60_000;

export class DatabaseTime {
  private offsetMs: number | null = null;
  private uncertaintyMs = Number.POSITIVE_INFINITY;
  private toldAt = 0;

  /** Takes what was told with the least delay lately: half of the delay is how wrong it may be. */
  learn({ askedAt, answeredAt, now }: Told): void {
    const uncertaintyMs = (answeredAt - askedAt) / 2;
    if (uncertaintyMs > this.uncertaintyMs && answeredAt - this.toldAt < FORGET_AFTER_MS) return;
    this.offsetMs = now - (askedAt + answeredAt) / 2;
    this.uncertaintyMs = uncertaintyMs;
    this.toldAt = answeredAt;
  }

  /** Unix ms; the machine's own time before anything was told. */
  now(): number {
    return this.offsetMs === null ? Date.now() : Math.floor(performance.now() + this.offsetMs);
  }
}
