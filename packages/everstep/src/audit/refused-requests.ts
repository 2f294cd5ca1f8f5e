/**
 * Counts rejected requests. The number of distinct counts is limited, so that a flood of requests cannot fill the audit log.
 */

export interface RefusedRequest {
  /** The `operationId`. For anonymous requests that are counted together, the `operationId` of the first request. */
  readonly operation: string;
  /** Error code of the response. */
  readonly code: string;
  /** Actor; `anonymous` for a request that was not admitted. */
  readonly actor: string;
  readonly credential: string;
  readonly instanceId: string | null;
  /** Id of the user; null if no user was logged in. */
  readonly userId: string | null;
  /** Network of the client: the first 64 bits of an IPv6 address. */
  readonly network: string;
}

/** Maximum number of distinct counts of identified callers, and of all other callers, until the counts are written. */
const MAX_IDENTIFIED = 100;
const MAX_ANONYMOUS = 20;
const VARIOUS = 'various';

export class RefusedRequests {
  private readonly counts = new Map<string, { readonly request: RefusedRequest; count: number }>();
  private identifiedCount = 0;
  private anonymousCount = 0;

  count(request: RefusedRequest): void {
    if (this.add(request, this.isBelowLimit(request))) return;
    // The request is still counted, without its caller. The number of error codes is limited.
    this.add({ ...OTHER_REQUESTS, code: request.code }, true);
  }

  /** Returns the counts and resets them. */
  take(): readonly { readonly request: RefusedRequest; readonly count: number }[] {
    const counts = [...this.counts.values()];
    this.counts.clear();
    [this.identifiedCount, this.anonymousCount] = [0, 0];
    return counts;
  }

  private isBelowLimit({ credential }: RefusedRequest): boolean {
    return credential === NO_CREDENTIAL ? this.anonymousCount < MAX_ANONYMOUS : this.identifiedCount < MAX_IDENTIFIED;
  }

  /** Adds to a count. Returns false if there is no count of this kind and none may be added. */
  private add(request: RefusedRequest, canAdd: boolean): boolean {
    const { operation, code, credential, instanceId, network } = request;
    // Anonymous callers may try every operation, so only the first one is recorded.
    const operationKey = credential === NO_CREDENTIAL ? '' : operation;
    const key = JSON.stringify([operationKey, code, credential, instanceId, network]);
    const entry = this.counts.get(key);
    if (entry) entry.count++;
    else if (!canAdd) return false;
    else {
      this.counts.set(key, { request, count: 1 });
      if (credential === NO_CREDENTIAL) this.anonymousCount++;
      else this.identifiedCount++;
    }
    return true;
  }
}

export const NO_CREDENTIAL = 'none';
const OTHER_REQUESTS: RefusedRequest = {
  operation: VARIOUS,
  code: '',
  actor: VARIOUS,
  credential: VARIOUS,
  instanceId: null,
  userId: null,
  network: VARIOUS,
};
