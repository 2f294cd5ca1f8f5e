/** Examines the entries of a list, newest first, up to the limits of one request. */
import { LIMITS } from '../../../config/limits.js';
import type { WorkSlices } from '../../../fairness/work-slices.js';
import type { Listing, Position } from '../../../ports/stores/page.js';

/** A page of entries that were examined. */
export interface ExaminedPage<Entry> {
  /** Examined entries that belong to the list. */
  readonly entries: readonly Entry[];
  /** Number of entries that were examined. */
  readonly examinedCount: number;
  /** Creation time of the last examined entry in Unix ms. Undefined if the page is empty. */
  readonly until: number | undefined;
  /** Start of the next page; null at the end. */
  readonly next: Position | null;
}

/** Returns a page of a listing as an examined page. `entries` are the items that belong to the list. */
export const examinedPage = <Entry extends { readonly createdAt: number }>(
  { items, next }: Listing<Entry>,
  entries: readonly Entry[] = items,
): ExaminedPage<Entry> => ({ entries, examinedCount: items.length, until: items.at(-1)?.createdAt, next });

interface ScannedEntries {
  /** Number of entries that were examined. */
  readonly examined: number;
  /** Whether all entries were examined. */
  readonly complete: boolean;
  /** Creation time of the last examined entry in Unix ms. Undefined if there are no entries. */
  readonly until: number | undefined;
}

/** Calls `visit` for each entry of the list. `read` returns the page after a position. */
export async function scanList<Entry>(
  slices: Pick<WorkSlices, 'run'>,
  instanceId: string,
  read: (after: Position | null) => Promise<ExaminedPage<Entry>>,
  visit: (entry: Entry) => void,
): Promise<ScannedEntries> {
  const endsAt = performance.now() + LIMITS.maxRunSearchMs;
  let after: Position | null = null;
  let examinedCount = 0;
  let until: number | undefined;
  do {
    const position: Position | null = after;
    const page: ExaminedPage<Entry> = await slices.run(instanceId, () => read(position));
    for (const entry of page.entries) visit(entry);
    examinedCount += page.examinedCount;
    until = page.until ?? until;
    after = page.next;
    if (after === null) return { examined: examinedCount, complete: true, until };
    // Yields to other requests.
    await new Promise((resolve) => setImmediate(resolve));
  } while (examinedCount < LIMITS.maxRunsSearched && performance.now() < endsAt);
  return { examined: examinedCount, complete: false, until };
}
