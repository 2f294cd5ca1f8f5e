/** Rates of API calls: a bucket for each instance that has one, which holds the calls of one second and fills up evenly. */

interface Bucket {
  /** In thousandths of a call: what a ms fills in is then as many as the calls of a second. */
  level: number;
  /** When it was filled up last. */
  at: number;
}

const A_CALL = 1000;

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
      bucket = { level: callsPerSecond * A_CALL, at };
      this.buckets.set(instanceId, bucket);
    }
    bucket.level = Math.min(callsPerSecond * A_CALL, bucket.level + (at - bucket.at) * callsPerSecond);
    bucket.at = at;
    if (bucket.level < A_CALL) return (A_CALL - bucket.level) / callsPerSecond;
    bucket.level -= A_CALL;
    return null;
  }
}
