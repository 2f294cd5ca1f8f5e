/** Requests that stay open for long, as those that wait for a result: how many there may be, in fair shares. */
import { ApiError } from '../contract/error-codes.js';
import { FairShare } from '../fairness/fair-share.js';
import type { InstanceOwners } from '../ports/instance-owners.js';

const RETRY_AFTER: Readonly<Record<string, string>> = Object.freeze({ 'retry-after': '5' });

export interface HeldRequestsOptions {
  /** What they are called in errors, such as `requests that wait for a result`. */
  readonly what: string;
  readonly total: number;
  /** Of one instance; absent: its fair share alone limits it. */
  readonly perInstance?: number;
  readonly owners: InstanceOwners;
}

export class HeldRequests {
  private readonly options: HeldRequestsOptions;
  private readonly share: FairShare;

  constructor(options: HeldRequestsOptions) {
    this.options = options;
    this.share = new FairShare(options.total, options.owners);
  }

  /** Returns the function that says that it is over. Throws ApiError when there are as many as allowed. */
  open(instanceId: string): () => void {
    const { what, total, perInstance = total } = this.options;
    if (this.share.free <= 0) {
      throw new ApiError('unavailable', `the server has ${total} ${what}, which is its limit; try again later`, RETRY_AFTER);
    }
    const taken = this.share.takenBy(instanceId);
    if (taken >= perInstance || !this.share.allows(instanceId)) {
      const limit = taken >= perInstance ? 'the limit of a queue instance' : 'the fair share of its account at this moment';
      const message = `the queue instance has ${taken} ${what}, which is ${limit}; close some, or try again later`;
      throw new ApiError('rate-limited', message, RETRY_AFTER);
    }
    this.share.take(instanceId);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.share.give(instanceId);
    };
  }

  /** The same for as long as `work` takes. */
  async during<Result>(instanceId: string, work: () => Promise<Result>): Promise<Result> {
    const over = this.open(instanceId);
    try {
      return await work();
    } finally {
      over();
    }
  }
}
