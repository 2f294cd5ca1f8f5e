/**
 * Delays responses to callers that exceed a rate and ignore Retry-After. Thousands of such requests per second would otherwise
 * slow down other callers, although each of them is rejected.
 */
import type { EventLoop } from '../../ports/event-loop.js';

/** Number of refusals per caller and second that are sent immediately. */
const MAX_IMMEDIATE_REFUSALS = 50;
const DELAY_PER_REFUSAL_MS = 20;
const MAX_DELAY_MS = 10_000;
const WINDOW_MS = 1_000;

/**
 * Limits a delay. Delays over the maximum are spread over its second half. If all of them had the maximum, thousands of
 * refusals would be sent at one moment.
 */
const limitDelayMs = (linearMs: number): number =>
  linearMs <= MAX_DELAY_MS ? linearMs : MAX_DELAY_MS / 2 + (linearMs % (MAX_DELAY_MS / 2));

export class RefusalDelays {
  private readonly time: Pick<EventLoop, 'wait'>;
  private readonly elapsedMs: () => number;
  /** Refusals in the current second, by caller. */
  private readonly counts = new Map<string, number>();
  private windowEndsAt = 0;

  constructor(time: Pick<EventLoop, 'wait'>, elapsedMs: () => number) {
    this.time = time;
    this.elapsedMs = elapsedMs;
  }

  /** Counts a refusal. Resolves when it can be sent; returns null if it can be sent immediately. */
  pause(caller: string): Promise<void> | null {
    const now = this.elapsedMs();
    if (now >= this.windowEndsAt) {
      this.counts.clear();
      this.windowEndsAt = now + WINDOW_MS;
    }
    const count = (this.counts.get(caller) ?? 0) + 1;
    this.counts.set(caller, count);
    const delayedCount = count - MAX_IMMEDIATE_REFUSALS;
    return delayedCount <= 0 ? null : this.time.wait(limitDelayMs(delayedCount * DELAY_PER_REFUSAL_MS));
  }
}
