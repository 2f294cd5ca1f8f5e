/** What answers read of runs: whole where that is short, part by part where it is sent, and within a bound for a listing. */
import { LIMITS, PART } from '../config/limits.js';
import type { FailedAttempt, Task } from '../engine/run.js';
import { otherTurn } from '../ports/history-parts.js';
import type { ListedStep, Part, Position, RunHistory, RunRecord, Store } from '../ports/store.js';

const { rowBytes: ROW_BYTES } = LIMITS;

export type HistoryStore = Pick<
  Store,
  'runHistory' | 'journalSize' | 'listSteps' | 'listTasks' | 'listAttempts' | 'loadResult' | 'payloadHead' | 'loadPayload'
>;

/** A history as a listing shows it. */
export interface ShownHistory extends Omit<RunHistory, 'next'> {
  /** Steps or failed attempts are left out. */
  readonly shortened?: true;
}

/** The first parts are all there is, and of the results, where they are wanted, none is left out. */
export function isWhole({ next, run, steps }: RunHistory, withResults = true): boolean {
  if (next.steps !== null || next.tasks !== null || next.attempts !== null) return false;
  return !withResults || (run.resultLeftOut === undefined && steps.every(({ outLeftOut }) => outLeftOut === undefined));
}

const sum = <Item>(items: readonly Item[], bytesOf: (item: Item) => number): number =>
  items.reduce((total, item) => total + bytesOf(item) + ROW_BYTES, 0);
const stepBytes = ({ name, out, sent }: ListedStep): number =>
  name.length + (out?.length ?? 0) + (sent ? LIMITS.maxKeptAttemptRequestBytes : 0);
const attemptBytes = ({ message, exchange }: FailedAttempt): number =>
  message.length + (exchange ? LIMITS.maxKeptAttemptBodyBytes : 0);
const taskBytes = (task: Task): number => ('name' in task ? task.name.length : 0);

/** About what it takes in memory. */
export const historyBytes = ({ run, steps, tasks, attempts, invoked }: Omit<RunHistory, 'next'>): number =>
  (run.result?.length ?? 0) +
  sum(steps, stepBytes) +
  sum(tasks, taskBytes) +
  sum(attempts, attemptBytes) +
  invoked.length * ROW_BYTES;

/** The record with its result, however long that is. */
export async function withWholeResult(store: Pick<Store, 'loadResult'>, run: RunRecord): Promise<RunRecord> {
  if (run.resultLeftOut === undefined) return run;
  const { resultLeftOut: _, ...rest } = run;
  return { ...rest, result: await store.loadResult({ runKey: run.key }) };
}

/** Bytes that may still be read. */
class Room {
  private bytes: number;

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  get left(): number {
    return this.bytes;
  }

  /** False when there is no room for so much; then nothing is taken. */
  take(bytes: number): boolean {
    if (bytes > this.bytes) return false;
    this.bytes -= bytes;
    return true;
  }
}

interface Read<Item> {
  readonly items: readonly Item[];
  /** Null: these are all. */
  readonly next: Position | null;
}

/** Reads on behind the first part while there is room for rows. */
async function readOn<Item>(
  first: Read<Item>,
  room: Room,
  read: (from: Position) => Promise<Part<Item>>,
  bytesOf: (item: Item) => number,
): Promise<Read<Item>> {
  const items: Item[] = [];
  let part: Part<Item> = first;
  for (;;) {
    items.push(...part.items);
    const isFull = !room.take(sum(part.items, bytesOf));
    if (part.next === null || isFull) return { items, next: part.next };
    await otherTurn();
    part = await read(part.next);
  }
}

/** Rows with the results for which there is room, and the rows behind them without results. */
async function readSteps(
  store: Pick<Store, 'listSteps'>,
  { run: { key: runKey }, journalLength: below }: RunHistory,
  results: Room,
  rows: Room,
): Promise<Read<ListedStep>> {
  const read = async (from: Position): Promise<Part<ListedStep>> => {
    const part = await store.listSteps({ runKey, from, below, bounds: PART, maxOutBytes: results.left });
    // The last row of a part may exceed it.
    results.take(Math.min(results.left, sum(part.items, stepBytes)));
    return part;
  };
  return readOn(await read('0'), rows, read, ({ name }) => name.length);
}

/**
 * A long history within the room. Results that do not fit are left out; when there is no room for the rows either, the last
 * ones are.
 */
export async function shortened(
  store: HistoryStore,
  history: RunHistory,
  bytes: number,
  withResults: boolean,
): Promise<ShownHistory> {
  const { next, ...shown } = history;
  const { key: runKey, resultLeftOut } = history.run;
  const results = new Room(withResults ? bytes : 0);
  const hasRoom = resultLeftOut !== undefined && results.take(resultLeftOut);
  const run = hasRoom ? await withWholeResult(store, history.run) : history.run;
  const third = Math.floor(bytes / 3);
  const tasks = await readOn(
    { items: shown.tasks, next: next.tasks },
    new Room(third),
    (from) => store.listTasks({ runKey, from, bounds: PART }),
    taskBytes,
  );
  const attempts = await readOn(
    { items: shown.attempts, next: next.attempts },
    new Room(third),
    (from) => store.listAttempts({ runKey, from, bounds: PART }),
    attemptBytes,
  );
  const steps = await readSteps(store, history, results, new Room(third));
  const isShort = [steps, tasks, attempts].some((list) => list.next !== null);
  return {
    ...shown,
    run,
    steps: steps.items,
    tasks: tasks.items,
    attempts: attempts.items,
    ...(isShort ? { shortened: true } : {}),
  };
}
