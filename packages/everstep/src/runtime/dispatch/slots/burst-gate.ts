/**
 * Acknowledges triggers first: while an instance triggers runs faster than they can be executed, most first deliveries of its
 * new runs wait. The clients of the burst therefore get their responses sooner. No run waits for this longer than `TIMEOUT_MS`.
 */
const WINDOW_MS = 50;
/** Number of triggers in a window from which they count as a burst: 1,000 per second. */
const BURST_TRIGGERS = 50;
/** A queue of first deliveries of at most this length is never held back. */
const MAX_FREE_QUEUE = 64;
const TIMEOUT_MS = 1_500;
const STARTS_PER_TRIGGER = 1 / 8;
/** Time after which held-back deliveries are checked again if nothing else happens. */
export const BURST_RECHECK_MS = WINDOW_MS / 5;

export class BurstGate {
  private windowStart = 0;
  private triggersInWindow = 0;
  private triggersInLastWindow = 0;
  private credit = 0;

  /** Counts a run that was created. */
  runCreated(now: number): void {
    this.turnWindow(now);
    this.triggersInWindow++;
    this.credit += STARTS_PER_TRIGGER;
  }

  /** Returns how many first deliveries may start now, and counts them as started. */
  takeStarts(now: number, freshQueue: { readonly count: number; readonly oldestSince: number }): number {
    if (!this.isBurst(now) || freshQueue.count <= MAX_FREE_QUEUE || now - freshQueue.oldestSince > TIMEOUT_MS)
      return Number.POSITIVE_INFINITY;
    const allowedStarts = Math.floor(this.credit);
    this.credit -= allowedStarts;
    return allowedStarts;
  }

  isBurst(now: number): boolean {
    this.turnWindow(now);
    return Math.max(this.triggersInWindow, this.triggersInLastWindow) >= BURST_TRIGGERS;
  }

  private turnWindow(now: number): void {
    const elapsedMs = now - this.windowStart;
    if (elapsedMs < WINDOW_MS) return;
    this.triggersInLastWindow = elapsedMs < 2 * WINDOW_MS ? this.triggersInWindow : 0;
    if (this.triggersInLastWindow < BURST_TRIGGERS) this.credit = 0;
    this.triggersInWindow = 0;
    this.windowStart = now;
  }
}
