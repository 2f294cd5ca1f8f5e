/** Examines the entries of a list, newest first, as many as one request may. */
import { LIMITS } from '../../../config/limits.js';
import type { WorkSlices } from '../../../fairness/work-slices.js';
import type { Listing, Position } from '../../../ports/stores/page.js';

/** A page of entries that were examined. */
export interface ExaminedPage<Entry> {
  /** Examined entries that belong to the list. */
  readonly listed: readonly Entry[];
  readonly examined: number;
  /** Creation time of the last one, Unix ms; undefined if there are none. */
  readonly until: number | undefined;
  /** Start of the next page; null at the end. */
  readonly next: Position | null;
}

/** Returns the page of a listing, of which only some entries belong to the list. */
export const examinedPage = <Entry extends { readonly createdAt: number }>(
  { items, next }: Listing<Entry>,
  listed: readonly Entry[] = items,
): ExaminedPage<Entry> => ({ listed, examined: items.length, until: items.at(-1)?.createdAt, next });

interface ScannedEntries {
  readonly examined: number;
  /** Whether these were all entries. */
  readonly complete: boolean;
  /** Creation time of the last one, Unix ms; undefined if there are none. */
  readonly until: number | undefined;
}

/** Calls `visit` for each entry of the list. `read` returns the page after a position. */
export async function scan<Entry>(
  slices: Pick<WorkSlices, 'run'>,
  instanceId: string,
  read: (after: Position | null) => Promise<ExaminedPage<Entry>>,
  visit: (entry: Entry) => void,
): Promise<ScannedEntries> {
  const endsAt = performance.now() + LIMITS.maxRunSearchMs;
  let after: Position | null = null;
  let examined = 0;
  let until: number | undefined;
  do {
    const position: Position | null = after;
    const page: ExaminedPage<Entry> = await slices.run(instanceId, () => read(position));
    for (const entry of page.listed) visit(entry);
    examined += page.examined;
    until = page.until ?? until;
    after = page.next;
    if (after === null) return { examined, complete: true, until };
    // Yields to other requests.
    await new Promise((resolve) => setImmediate(resolve));
  } while (examined < LIMITS.maxRunsSearched && performance.now() < endsAt);
  return { examined, complete: false, until };
}
