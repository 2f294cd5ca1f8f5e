/** Counts refused requests. The number of different counts is bounded, so a flood of them cannot fill the audit log. */

export interface RefusedRequest {
  /** `operationId`; of anonymous requests that are counted together that of the first. */
  readonly operation: string;
  /** Error code of the answer. */
  readonly code: string;
  /** `anonymous` for a request that was not admitted. */
  readonly actor: string;
  readonly credential: string;
  readonly instanceId: string | null;
  /** Null: no user was logged in. */
  readonly userId: string | null;
  /** Network of the client: of an IPv6 address the first 64 bits. */
  readonly network: string;
}

/** Entries that callers who are known may lead to until the counts are taken, and entries of all others. */
const MOST_KNOWN = 100;
const MOST_ANONYMOUS = 20;
const VARIOUS = 'various';

export class RefusedRequests {
  private readonly counts = new Map<string, { readonly request: RefusedRequest; count: number }>();
  private known = 0;
  private anonymous = 0;

  count(request: RefusedRequest): void {
    if (this.add(request, this.hasRoom(request))) return;
    // Who it was is lost, how many there were is not. There are only so many codes.
    this.add({ ...ANY, code: request.code }, true);
  }

  /** Returns what was counted, and counts from 0 again. */
  take(): readonly { readonly request: RefusedRequest; readonly count: number }[] {
    const taken = [...this.counts.values()];
    this.counts.clear();
    [this.known, this.anonymous] = [0, 0];
    return taken;
  }

  private hasRoom({ credential }: RefusedRequest): boolean {
    return credential === NO_CREDENTIAL ? this.anonymous < MOST_ANONYMOUS : this.known < MOST_KNOWN;
  }

  /** False: there is no count of this kind, and none may be added. */
  private add(request: RefusedRequest, mayBegin: boolean): boolean {
    const { operation, code, credential, instanceId, network } = request;
    // Who is unknown may try every operation; the first of them is recorded.
    const tried = credential === NO_CREDENTIAL ? '' : operation;
    const key = JSON.stringify([tried, code, credential, instanceId, network]);
    const known = this.counts.get(key);
    if (known) known.count++;
    else if (!mayBegin) return false;
    else {
      this.counts.set(key, { request, count: 1 });
      if (credential === NO_CREDENTIAL) this.anonymous++;
      else this.known++;
    }
    return true;
  }
}

export const NO_CREDENTIAL = 'none';
const ANY: RefusedRequest = {
  operation: VARIOUS,
  code: '',
  actor: VARIOUS,
  credential: VARIOUS,
  instanceId: null,
  userId: null,
  network: VARIOUS,
};
