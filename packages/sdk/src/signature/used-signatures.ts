/**
 * Remembers the ids of accepted signatures, so that this process accepts each signature only once. A retry has a new
 * signature. If more than `maxCount` signatures are in use, the oldest one is forgotten and could be used again until
 * it expires.
 */
export class UsedSignatures {
  /** Expiry in Unix seconds, by signature id, in order of use. */
  private readonly expiryById = new Map<string, number>();
  private readonly maxCount: number;

  constructor(maxCount: number) {
    this.maxCount = maxCount;
  }

  get size(): number {
    return this.expiryById.size;
  }

  /** Marks a signature as used. Returns false if it was used before. Both times are in Unix seconds. */
  use(id: string, expiryS: number, nowS: number): boolean {
    for (const [oldestId, oldestExpiryS] of this.expiryById) {
      if (oldestExpiryS > nowS && this.expiryById.size < this.maxCount) break;
      this.expiryById.delete(oldestId);
    }
    const usedExpiryS = this.expiryById.get(id);
    if (usedExpiryS !== undefined && usedExpiryS > nowS) return false;
    this.expiryById.set(id, expiryS);
    return true;
  }
}

/** Enough for 300 requests per second during the 5.5 minutes for which a signature is accepted. Uses about 10 MB. */
const MAX_USED_SIGNATURES = 100_000;
/** The signatures that this process has accepted. */
export const usedSignatures = new UsedSignatures(MAX_USED_SIGNATURES);
