/**
 * Remembers the ids of accepted signatures, so that this process accepts each of them once. A retry has its own
 * signature. The memory is limited: beyond `max`, the oldest signature is forgotten and could be used again until it
 * expires.
 */
export class UsedSignatures {
  /** Expiry in Unix seconds, by signature id, in order of use. */
  private readonly used = new Map<string, number>();
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  get size(): number {
    return this.used.size;
  }

  /** Marks a signature as used. Returns false if it was used before. `untilS` is its expiry in Unix seconds. */
  use(id: string, untilS: number, nowS: number): boolean {
    for (const [oldest, forgetS] of this.used) {
      if (forgetS > nowS && this.used.size < this.max) break;
      this.used.delete(oldest);
    }
    const known = this.used.get(id);
    if (known !== undefined && known > nowS) return false;
    this.used.set(id, untilS);
    return true;
  }
}

/** Enough for all signatures of the 5.5 minutes for which they are accepted, at 300 requests a second. About 10 MB. */
const MAX_USED = 100_000;
/** The signatures that this process has accepted. */
export const usedSignatures = new UsedSignatures(MAX_USED);
