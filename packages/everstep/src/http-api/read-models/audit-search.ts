/** Reads pages of the audit log. A search returns only the entries that contain all of its words. */
import { LIMITS } from '../../config/limits.js';
import type { AuditEntry } from '../../ports/stores/account-store.js';

/** Maximum number of entries that one request searches for words. */
export const MAX_AUDIT_SEARCHED = 5 * LIMITS.auditPageMax;

/** Number of entries that one slice of work reads and compares, which takes about 10 ms. */
const SLICE_SIZE = 200;

export interface AuditPageQuery {
  /** Id of the entry after which the page starts. Null starts with the newest entry. */
  readonly after: string | null;
  readonly limit: number;
}

interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Id of the entry after which the next page starts; null at the end. */
  readonly next: string | null;
}

/** Returns whether each of the lowercase words occurs in a text of the entry, ignoring case. */
export function hasWords({ actor, action, subject, address, details, request }: AuditEntry, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const requestTexts = request ? [request.operation, request.credential, request.outcome] : [];
  const texts = [
    actor,
    action,
    subject,
    address,
    ...requestTexts,
    ...Object.values(details).map(String),
    ...Object.keys(details),
  ];
  const lowercaseTexts = texts.map((text) => text.toLowerCase());
  return words.every((word) => lowercaseTexts.some((text) => text.includes(word)));
}

export interface AuditSearch {
  readonly read: (query: AuditPageQuery) => Promise<readonly AuditEntry[]>;
  readonly matches: (entry: AuditEntry) => boolean;
  readonly maxSearched: number;
  /** Runs a part of the search after other work that is waiting. */
  readonly runSlice: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/** Reads entries until `limit` entries match or `maxSearched` entries were searched. */
export async function readMatchingEntries(
  { read, matches, maxSearched, runSlice }: AuditSearch,
  { after: start, limit }: AuditPageQuery,
): Promise<AuditPage> {
  const entries: AuditEntry[] = [];
  let after = start;
  for (let searchedCount = 0; ; ) {
    const size = Math.min(maxSearched - searchedCount, SLICE_SIZE);
    const batch = await runSlice(async () => {
      // One extra entry is read to find out whether there are more entries.
      const page = await read({ after, limit: size + 1 });
      return page.map((entry) => ({ entry, isMatch: matches(entry) }));
    });
    for (const [index, { entry, isMatch }] of batch.slice(0, size).entries()) {
      searchedCount++;
      after = entry.auditId;
      if (isMatch) entries.push(entry);
      if (entries.length === limit) return { entries, next: index === batch.length - 1 ? null : after };
    }
    if (batch.length <= size) return { entries, next: null };
    if (searchedCount >= maxSearched) return { entries, next: after };
  }
}
