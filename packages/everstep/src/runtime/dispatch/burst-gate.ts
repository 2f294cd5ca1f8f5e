/**
 * Acknowledge first: while triggers of an instance pour in faster than runs can be carried out, most of its first
 * deliveries wait, so that the clients of the burst get their answers. No start of a run waits for this longer than the
 * patience.
 */
const WINDOW_MS = 50;
/** So many triggers within a window are a burst: 1,000 a second. */
const BURST_TRIGGERS = 50;
/** A shorter queue of new runs is no burden. */
const QUEUE_ALLOWED = 64;
const PATIENCE_MS = 1_500;
const STARTS_PER_TRIGGER = 1 / 8;
/** When to ask again, should the allowance have been too small and nothing else happen. */
export const BURST_RECHECK_MS = WINDOW_MS / 5;

export class BurstGate {
  private windowStart = 0;
  private inWindow = 0;
  private inLastWindow = 0;
  private credit = 0;

  triggered(now: number): void {
    this.turnWindow(now);
    this.inWindow++;
    this.credit += STARTS_PER_TRIGGER;
  }

  /** How many first deliveries may begin now. */
  allowance(now: number, fresh: { readonly count: number; readonly oldestSince: number }): number {
    if (!this.isBurst(now) || fresh.count <= QUEUE_ALLOWED || now - fresh.oldestSince > PATIENCE_MS)
      return Number.POSITIVE_INFINITY;
    const allowed = Math.floor(this.credit);
    this.credit -= allowed;
    return allowed;
  }

  isBurst(now: number): boolean {
    this.turnWindow(now);
    return Math.max(this.inWindow, this.inLastWindow) >= BURST_TRIGGERS;
  }

  private turnWindow(now: number): void {
    const passed = now - this.windowStart;
    if (passed < WINDOW_MS) return;
    this.inLastWindow = passed < 2 * WINDOW_MS ? this.inWindow : 0;
    if (this.inLastWindow < BURST_TRIGGERS) this.credit = 0;
    this.inWindow = 0;
    this.windowStart = now;
  }
}
