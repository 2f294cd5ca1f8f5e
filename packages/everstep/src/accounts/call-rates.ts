/** Rates of API calls: a bucket for each instance that has one, which holds the calls of one second and fills up evenly. */

interface Bucket {
  calls: number;
  /** When it was filled up last. */
  at: number;
}

const SECOND_MS = 1000;

export class CallRates {
  private readonly elapsedMs: () => number;
  private readonly buckets = new Map<string, Bucket>();

  constructor(elapsedMs: () => number) {
    this.elapsedMs = elapsedMs;
  }

  /** Null when the call may go on, and it is counted then; else the ms after which one may. No rate: `callsPerSecond` null. */
  admit(instanceId: string, callsPerSecond: number | null): number | null {
    if (callsPerSecond === null) {
      if (this.buckets.size > 0) this.buckets.delete(instanceId);
      return null;
    }
    const at = this.elapsedMs();
    let bucket = this.buckets.get(instanceId);
    if (!bucket) {
      bucket = { calls: callsPerSecond, at };
      this.buckets.set(instanceId, bucket);
    }
    bucket.calls = Math.min(callsPerSecond, bucket.calls + ((at - bucket.at) * callsPerSecond) / SECOND_MS);
    bucket.at = at;
    if (bucket.calls < 1) return ((1 - bucket.calls) * SECOND_MS) / callsPerSecond;
    bucket.calls--;
    return null;
  }
}
