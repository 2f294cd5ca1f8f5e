/** Pages of runs with their histories: a page ends before the run that would make it too long. */
import { LIMITS, PART } from '../config/limits.js';
import type { ListedRun, Listing, Position, RunHistory } from '../ports/store.js';
import type { Reserve } from './read-budget.js';
import { type HistoryStore, historyBytes, isWhole, type ShownHistory, shortened } from './run-histories.js';

/** Bytes that the page may still have. */
export class PageRoom {
  private readonly reserve: Reserve;
  private readonly maxBytes: number;
  private used = 0;
  private reserved = false;

  constructor(reserve: Reserve, maxBytes: number = LIMITS.maxPageBytes) {
    this.reserve = reserve;
    this.maxBytes = maxBytes;
  }

  get left(): number {
    return Math.max(0, this.maxBytes - this.used);
  }

  get isEmpty(): boolean {
    return this.used === 0;
  }

  /** Asked before so much is read: a page that is not short takes its room at once, so that no two pages wait for each other. */
  async prepare(bytes: number): Promise<void> {
    if (this.reserved || this.used + bytes <= LIMITS.partBytes) return;
    this.reserved = true;
    await this.reserve(LIMITS.maxPageBytes);
  }

  take(bytes: number): void {
    this.used += bytes;
  }

  /** Takes the bytes, and prepares for them, if there is room for so many. */
  async takeIfFits(bytes: number): Promise<boolean> {
    if (bytes > this.left) return false;
    await this.prepare(bytes);
    this.take(bytes);
    return true;
  }
}

export interface RunPage<Entry> {
  readonly runs: readonly Entry[];
  /** Where the next page starts; null at the end, and when the first run has no room. */
  readonly next: Position | null;
  /** It ends before a run for which there is no room. */
  readonly isFull: boolean;
}

/** The entry belongs to the next page. */
export const NO_ROOM = Symbol('no room');

/** Reads runs one after the other until the page is full. `read` gives null for a run that is not shown. */
export async function readPage<Entry>(
  { items, next }: Listing<ListedRun>,
  read: (run: ListedRun) => Promise<Entry | null | typeof NO_ROOM>,
): Promise<RunPage<Entry>> {
  const runs: Entry[] = [];
  let last: Position | null = null;
  for (const run of items) {
    const entry = await read(run);
    if (entry === NO_ROOM) return { runs, next: last, isFull: true };
    last = run.position;
    if (entry !== null) runs.push(entry);
  }
  return { runs, next, isFull: false };
}

/** Of a long history; those of tasks and attempts are as far as they are known. */
async function wholeBytes(store: Pick<HistoryStore, 'journalSize'>, history: RunHistory, withResults: boolean): Promise<number> {
  const { steps, bytes } = await store.journalSize({ runKey: history.run.key });
  const known = historyBytes({ ...history, steps: [] });
  return known + steps * LIMITS.rowBytes + (withResults ? bytes + (history.run.resultLeftOut ?? 0) : 0);
}

/**
 * The history of a run within the room of the page. The first one of a page is shortened where it is longer than that.
 * Without results they are read where they are short alone.
 */
export async function readHistory(
  store: HistoryStore,
  { key: runKey }: Pick<ListedRun, 'key'>,
  room: PageRoom,
  withResults: boolean,
): Promise<ShownHistory | null | typeof NO_ROOM> {
  const maxOutBytes = withResults ? LIMITS.partBytes : LIMITS.maxInlineBytes;
  const history = await store.runHistory({ runKey, bounds: PART, maxOutBytes });
  if (!history) return null;
  const whole = isWhole(history, withResults);
  const bytes = whole ? historyBytes(history) : await wholeBytes(store, history, withResults);
  if (!room.isEmpty && bytes > room.left) return NO_ROOM;
  await room.prepare(bytes);
  const { next: _, ...shown } = whole ? history : { next: null, ...(await shortened(store, history, room.left, withResults)) };
  room.take(historyBytes(shown));
  return shown;
}
