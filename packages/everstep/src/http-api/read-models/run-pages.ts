/** Reads pages of runs with their histories. A page ends before the run that would make it too large. */
import { LIMITS, PART_LIMITS } from '../../config/limits.js';
import { omittedResultBytes } from '../../ports/stores/history-parts.js';
import type { HistoryStore, ListedRun, Listing, Position, RunHistory } from '../../ports/stores/store.js';
import type { Reserve } from '../admission/read-budget.js';
import { historyBytes, isCompleteHistory, type ListedHistory, shortenHistory } from './run-histories.js';

/** Remaining number of bytes of a page. */
export class PageBudget {
  private readonly reserve: Reserve;
  private readonly maxBytes: number;
  private usedBytes = 0;
  private isReserved = false;

  constructor(reserve: Reserve, maxBytes: number = LIMITS.maxPageBytes) {
    this.reserve = reserve;
    this.maxBytes = maxBytes;
  }

  get remaining(): number {
    return Math.max(0, this.maxBytes - this.usedBytes);
  }

  get isEmpty(): boolean {
    return this.usedBytes === 0;
  }

  /**
   * Reserves memory before that many bytes are read. A page that is not small reserves the maximum of a page at once, so that no
   * two pages wait for each other.
   */
  async prepare(bytes: number): Promise<void> {
    if (this.isReserved || this.usedBytes + bytes <= LIMITS.partBytes) return;
    this.isReserved = true;
    await this.reserve(LIMITS.maxPageBytes);
  }

  take(bytes: number): void {
    this.usedBytes += bytes;
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
  /** Start of the next page. Null at the end, and if the first run does not fit. */
  readonly next: Position | null;
  /** Whether the page ends before a run that does not fit. */
  readonly isFull: boolean;
}

/** Result of `read` for an entry that belongs to the next page. */
export const DOES_NOT_FIT = Symbol('does not fit');

/** Reads runs one after another until the page is full. `read` returns null for a run that is not shown. */
export async function readPage<Entry>(
  { items, next }: Listing<ListedRun>,
  read: (run: ListedRun) => Promise<Entry | null | typeof DOES_NOT_FIT>,
): Promise<RunPage<Entry>> {
  const runs: Entry[] = [];
  let lastPosition: Position | null = null;
  for (const run of items) {
    const entry = await read(run);
    if (entry === DOES_NOT_FIT) return { runs, next: lastPosition, isFull: true };
    lastPosition = run.position;
    if (entry !== null) runs.push(entry);
  }
  return { runs, next, isFull: false };
}

/** Returns the size of a long history in bytes. Of its tasks and attempts, only those that were read are counted. */
async function totalBytes(store: HistoryStore, history: RunHistory, withResults: boolean): Promise<number> {
  const { steps, bytes } = await store.journalSize({ runKey: history.run.key });
  const knownBytes = historyBytes({ ...history, steps: [] });
  return knownBytes + steps * LIMITS.assumedRowBytes + (withResults ? bytes + omittedResultBytes(history.run) : 0);
}

/**
 * Reads the history of a run within the limit of the page. The first run of a page is shortened if necessary. Unless
 * `withResults` is set, only short results are read.
 */
export async function readHistory(
  store: HistoryStore,
  { key: runKey }: Pick<ListedRun, 'key'>,
  budget: PageBudget,
  withResults: boolean,
): Promise<ListedHistory | null | typeof DOES_NOT_FIT> {
  const maxOutBytes = withResults ? LIMITS.partBytes : LIMITS.maxInlineBytes;
  const history = await store.runHistory({ runKey, bounds: PART_LIMITS, maxOutBytes });
  if (!history) return null;
  const isComplete = isCompleteHistory(history, withResults);
  const bytes = isComplete ? historyBytes(history) : await totalBytes(store, history, withResults);
  if (!budget.isEmpty && bytes > budget.remaining) return DOES_NOT_FIT;
  await budget.prepare(bytes);
  const { next: _, ...shownHistory } = isComplete
    ? history
    : { next: null, ...(await shortenHistory(store, history, budget.remaining, withResults)) };
  budget.take(historyBytes(shownHistory));
  return shownHistory;
}
