/** Limits requests that stay open for a long time, such as waits for a result, in fair shares. */
import { ApiError } from '../../contract/error-codes.js';
import { FairShare } from '../../fairness/fair-share.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';

const RETRY_AFTER: Readonly<Record<string, string>> = Object.freeze({ 'retry-after': '5' });

export interface HeldRequestsOptions {
  /** Name of the requests in errors, for example `requests that wait for a result`. */
  readonly requestName: string;
  /** Limit of all instances together. */
  readonly maxTotal: number;
  /** Limit of one instance. If absent, only its fair share limits it. */
  readonly maxPerInstance?: number;
  readonly owners: InstanceOwners;
  /** Additional limit that requests of several kinds share. */
  readonly sharedCapacity?: FairShare;
}

export class HeldRequests {
  private readonly options: HeldRequestsOptions;
  private readonly share: FairShare;

  constructor(options: HeldRequestsOptions) {
    this.options = options;
    this.share = new FairShare(options.maxTotal, options.owners);
  }

  /** Counts a request and returns the function that ends it. Throws ApiError when the limit is reached. */
  acquire(instanceId: string): () => void {
    const { requestName, maxTotal, maxPerInstance = maxTotal, sharedCapacity } = this.options;
    if (this.share.free <= 0 || (sharedCapacity && sharedCapacity.free <= 0)) {
      throw new ApiError(
        'unavailable',
        `the server has reached its limit of ${maxTotal} ${requestName}; retry later`,
        RETRY_AFTER,
      );
    }
    const openRequests = this.share.takenBy(instanceId);
    if (openRequests >= maxPerInstance || !this.share.allows(instanceId) || sharedCapacity?.allows(instanceId) === false) {
      const limit = openRequests >= maxPerInstance ? 'its limit' : "its account's current fair share";
      const message = `the queue instance has reached ${limit} of ${requestName} (${openRequests}); close some, or retry later`;
      throw new ApiError('rate-limited', message, RETRY_AFTER);
    }
    this.share.take(instanceId);
    sharedCapacity?.take(instanceId);
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.share.give(instanceId);
      sharedCapacity?.give(instanceId);
    };
  }

  /** Counts a request while `work` runs. */
  async during<Result>(instanceId: string, work: () => Promise<Result>): Promise<Result> {
    const release = this.acquire(instanceId);
    try {
      return await work();
    } finally {
      release();
    }
  }
}
