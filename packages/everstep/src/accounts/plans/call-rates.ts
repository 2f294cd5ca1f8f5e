/**
 * Limits the rate of API calls with a token bucket for each instance. A bucket holds one second of calls and refills
 * evenly.
 */

interface Bucket {
  /** Remaining calls in thousandths, so that the refill per ms equals the calls per second. */
  level: number;
  /** Time of the last refill. */
  refilledAt: number;
}

const LEVEL_PER_CALL = 1000;

export class CallRates {
  private readonly elapsedMs: () => number;
  private readonly buckets = new Map<string, Bucket>();

  constructor(elapsedMs: () => number) {
    this.elapsedMs = elapsedMs;
  }

  /**
   * Admits and counts a call, or returns the time in ms after which a call is admitted. Returns null if the call was
   * admitted. Null for `callsPerSecond` means no limit.
   */
  admit(instanceId: string, callsPerSecond: number | null): number | null {
    if (callsPerSecond === null) {
      if (this.buckets.size > 0) this.buckets.delete(instanceId);
      return null;
    }
    const at = this.elapsedMs();
    let bucket = this.buckets.get(instanceId);
    if (!bucket) {
      bucket = { level: callsPerSecond * LEVEL_PER_CALL, refilledAt: at };
      this.buckets.set(instanceId, bucket);
    }
    bucket.level = Math.min(callsPerSecond * LEVEL_PER_CALL, bucket.level + (at - bucket.refilledAt) * callsPerSecond);
    bucket.refilledAt = at;
    if (bucket.level < LEVEL_PER_CALL) return (LEVEL_PER_CALL - bucket.level) / callsPerSecond;
    bucket.level -= LEVEL_PER_CALL;
    return null;
  }
}
