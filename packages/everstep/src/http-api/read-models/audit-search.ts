/** Reads pages of the audit log, with only the entries that contain some words. */
import { LIMITS } from '../../config/limits.js';
import type { AuditEntry } from '../../ports/stores/account-store.js';

/** Maximum number of entries that one request searches for words. */
export const MAX_AUDIT_SEARCHED = 5 * LIMITS.auditPageMax;

/** Number of entries that one slice of work reads and compares: some 10 ms. */
const SLICE_SIZE = 200;

export interface AuditPosition {
  /** Id of the entry after which the page starts; null: the newest. */
  readonly after: string | null;
  readonly limit: number;
}

interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Id of the entry after which the next page starts; null at the end. */
  readonly next: string | null;
}

/** Returns whether each word, in lower case, occurs in a text of the entry. */
export function hasWords({ actor, action, subject, address, details, request }: AuditEntry, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const requested = request ? [request.operation, request.credential, request.outcome] : [];
  const texts = [actor, action, subject, address, ...requested, ...Object.values(details).map(String), ...Object.keys(details)];
  const lower = texts.map((text) => text.toLowerCase());
  return words.every((word) => lower.some((text) => text.includes(word)));
}

export interface AuditSearch {
  readonly read: (position: AuditPosition) => Promise<readonly AuditEntry[]>;
  readonly matches: (entry: AuditEntry) => boolean;
  readonly maxSearched: number;
  /** Runs a part of the search when other work has had its turn. */
  readonly runSlice: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/** Reads entries until `limit` match or `maxSearched` were searched. */
export async function matchingAudit(
  { read, matches, maxSearched, runSlice }: AuditSearch,
  { after: start, limit }: AuditPosition,
): Promise<AuditPage> {
  const entries: AuditEntry[] = [];
  let after = start;
  for (let searched = 0; ; ) {
    const size = Math.min(maxSearched - searched, SLICE_SIZE);
    const batch = await runSlice(async () => {
      // One entry more than searched reveals whether there are others.
      const page = await read({ after, limit: size + 1 });
      return page.map((entry) => ({ entry, isMatch: matches(entry) }));
    });
    for (const [index, { entry, isMatch }] of batch.slice(0, size).entries()) {
      searched++;
      after = entry.auditId;
      if (isMatch) entries.push(entry);
      if (entries.length === limit) return { entries, next: index === batch.length - 1 ? null : after };
    }
    if (batch.length <= size) return { entries, next: null };
    if (searched >= maxSearched) return { entries, next: after };
  }
}
