/**
 * Reads the bytes of an account's search indexes for quotas. Their storage can be busy with a search of another account, so a
 * caller waits only briefly and then gets the latest known number.
 */

/** Maximum number of cached accounts. The oldest entry is evicted first. */
export const MAX_CACHED_ACCOUNTS = 10_000;
/** Maximum time in ms that a caller waits for a number that replaces a known one. */
const MAX_REFRESH_MS = 100;
/** Maximum time in ms that a caller waits for the first number. After that, the indexes count as empty until it is known. */
const MAX_FIRST_READ_MS = 1_000;

interface KnownBytes {
  bytes: number | null;
  read: Promise<number> | null;
}

/** Returns the result of the read, or the fallback if the read takes longer than `maxMs`. */
function withinTime(read: Promise<number>, maxMs: number, fallback: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(fallback), maxMs);
    read.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export class StoredBytesCache {
  private readonly read: (accountId: string) => Promise<number>;
  private readonly known = new Map<string, KnownBytes>();

  constructor(read: (accountId: string) => Promise<number>) {
    this.read = read;
  }

  /** Returns the current bytes, or the latest known ones while the storage is busy. Rejects if the read fails in time. */
  get(accountId: string): Promise<number> {
    const known = this.known.get(accountId) ?? this.add(accountId);
    const isFirst = known.bytes === null && known.read === null;
    known.read ??= this.refresh(accountId, known);
    return withinTime(known.read, isFirst ? MAX_FIRST_READ_MS : MAX_REFRESH_MS, known.bytes ?? 0);
  }

  private add(accountId: string): KnownBytes {
    const known: KnownBytes = { bytes: null, read: null };
    this.known.set(accountId, known);
    for (const [oldestAccountId] of this.known) {
      if (this.known.size <= MAX_CACHED_ACCOUNTS) break;
      this.known.delete(oldestAccountId);
    }
    return known;
  }

  private async refresh(accountId: string, known: KnownBytes): Promise<number> {
    try {
      const bytes = await this.read(accountId);
      known.bytes = bytes;
      return bytes;
    } finally {
      known.read = null;
    }
  }
}
