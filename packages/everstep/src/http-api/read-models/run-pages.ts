/** Reads pages of runs with their histories. A page ends before the run that would make it too large. */
import { LIMITS, PART } from '../../config/limits.js';
import type { HistoryStore, ListedRun, Listing, Position, RunHistory } from '../../ports/stores/store.js';
import type { Reserve } from '../admission/read-budget.js';
import { historyBytes, isWhole, type ShownHistory, shorten } from './run-histories.js';

/** Remaining number of bytes of a page. */
export class PageBudget {
  private readonly reserve: Reserve;
  private readonly maxBytes: number;
  private used = 0;
  private reserved = false;

  constructor(reserve: Reserve, maxBytes: number = LIMITS.maxPageBytes) {
    this.reserve = reserve;
    this.maxBytes = maxBytes;
  }

  get remaining(): number {
    return Math.max(0, this.maxBytes - this.used);
  }

  get isEmpty(): boolean {
    return this.used === 0;
  }

  /**
   * Reserves memory before that many bytes are read. A page that is not short reserves its maximum at once, so that no two
   * pages wait for each other.
   */
  async prepare(bytes: number): Promise<void> {
    if (this.reserved || this.used + bytes <= LIMITS.partBytes) return;
    this.reserved = true;
    await this.reserve(LIMITS.maxPageBytes);
  }

  take(bytes: number): void {
    this.used += bytes;
  }

  /** Takes the bytes if they fit into the page, after reserving memory for them. */
  async addIfFits(bytes: number): Promise<boolean> {
    if (bytes > this.remaining) return false;
    await this.prepare(bytes);
    this.take(bytes);
    return true;
  }
}

export interface RunPage<Entry> {
  readonly runs: readonly Entry[];
  /** Start of the next page. Null at the end, and when the first run does not fit. */
  readonly next: Position | null;
  /** The page ends before a run that does not fit. */
  readonly isFull: boolean;
}

/** Result of `read` for an entry that belongs to the next page. */
export const DOES_NOT_FIT = Symbol('no room');

/** Reads runs one after the other until the page is full. `read` returns null for a run that is not shown. */
export async function readPage<Entry>(
  { items, next }: Listing<ListedRun>,
  read: (run: ListedRun) => Promise<Entry | null | typeof DOES_NOT_FIT>,
): Promise<RunPage<Entry>> {
  const runs: Entry[] = [];
  let last: Position | null = null;
  for (const run of items) {
    const entry = await read(run);
    if (entry === DOES_NOT_FIT) return { runs, next: last, isFull: true };
    last = run.position;
    if (entry !== null) runs.push(entry);
  }
  return { runs, next, isFull: false };
}

/** Returns the size of a long history; for tasks and attempts, the known part of it. */
async function totalBytes(store: HistoryStore, history: RunHistory, withResults: boolean): Promise<number> {
  const { steps, bytes } = await store.journalSize({ runKey: history.run.key });
  const knownBytes = historyBytes({ ...history, steps: [] });
  return knownBytes + steps * LIMITS.rowBytes + (withResults ? bytes + (history.run.resultLeftOut ?? 0) : 0);
}

/**
 * Reads the history of a run within the limit of the page. The first run of a page is shortened if necessary. Without
 * results, only short results are read.
 */
export async function readHistory(
  store: HistoryStore,
  { key: runKey }: Pick<ListedRun, 'key'>,
  budget: PageBudget,
  withResults: boolean,
): Promise<ShownHistory | null | typeof DOES_NOT_FIT> {
  const maxOutBytes = withResults ? LIMITS.partBytes : LIMITS.maxInlineBytes;
  const history = await store.runHistory({ runKey, bounds: PART, maxOutBytes });
  if (!history) return null;
  const isComplete = isWhole(history, withResults);
  const bytes = isComplete ? historyBytes(history) : await totalBytes(store, history, withResults);
  if (!budget.isEmpty && bytes > budget.remaining) return DOES_NOT_FIT;
  await budget.prepare(bytes);
  const { next: _, ...shown } = isComplete
    ? history
    : { next: null, ...(await shorten(store, history, budget.remaining, withResults)) };
  budget.take(historyBytes(shown));
  return shown;
}
