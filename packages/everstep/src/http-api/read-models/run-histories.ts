/**
 * Reads the history of runs: short ones in one piece, long ones in parts while they are sent, and within a limit for listings.
 */
import { LIMITS, PART_LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import type { FailedAttempt, Task } from '../../engine/runs/run.js';
import { omittedResultBytes, withFullResult, yieldToOthers } from '../../ports/stores/history-parts.js';
import type { FullRunRecord, HistoryStore, ListedStep, Part, Position, RunHistory, RunRecord } from '../../ports/stores/store.js';
import { quoteValue } from '../parameters/value-errors.js';

const { assumedRowBytes: ROW_BYTES } = LIMITS;

/** History of a run in a listing. */
export interface ListedHistory extends Omit<RunHistory, 'next'> {
  /** Present if steps, tasks or failed attempts are omitted. */
  readonly shortened?: true;
}

/** Returns whether the first parts contain the whole history, with all results if `withResults` is set. */
export function isCompleteHistory({ next, run, steps }: RunHistory, withResults = true): boolean {
  if (next.steps !== null || next.tasks !== null || next.attempts !== null) return false;
  return !withResults || (omittedResultBytes(run) === 0 && steps.every(({ outLeftOut }) => outLeftOut === undefined));
}

const totalBytes = <Item>(items: readonly Item[], bytesOf: (item: Item) => number): number =>
  items.reduce((total, item) => total + bytesOf(item) + ROW_BYTES, 0);
const stepBytes = ({ name, out, sent }: ListedStep): number =>
  name.length + (out?.length ?? 0) + (sent ? LIMITS.maxKeptAttemptRequestBytes : 0);
const attemptBytes = ({ message, exchange }: FailedAttempt): number =>
  message.length + (exchange ? LIMITS.maxKeptAttemptBodyBytes : 0);
const taskBytes = (task: Task): number => ('name' in task ? task.name.length : 0);

/** Returns the approximate size of a history in memory, in bytes. */
export const historyBytes = ({ run, steps, tasks, attempts, invoked }: Omit<RunHistory, 'next'>): number =>
  (typeof run.result === 'string' ? run.result.length : 0) +
  totalBytes(steps, stepBytes) +
  totalBytes(tasks, taskBytes) +
  totalBytes(attempts, attemptBytes) +
  invoked.length * ROW_BYTES;

/** Returns the record of a run with its whole result. Throws ApiError if the run was removed. */
export async function requireFullResult(store: HistoryStore, run: RunRecord): Promise<FullRunRecord> {
  const wholeRun = await withFullResult(store, run);
  if (!wholeRun) throw new ApiError('not-found', `run ${quoteValue(run.workflowRunId)} was removed`);
  return wholeRun;
}

/** Remaining number of bytes that may be read. */
class ByteBudget {
  private bytes: number;

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  get remaining(): number {
    return this.bytes;
  }

  /** Subtracts the bytes and returns true, or returns false if fewer bytes remain. */
  take(bytes: number): boolean {
    if (bytes > this.bytes) return false;
    this.bytes -= bytes;
    return true;
  }
}

interface ListPart<Item> {
  readonly items: readonly Item[];
  /** Position of the next part, or null if there are no more items. */
  readonly next: Position | null;
}

/** Adds further parts to the first one while the budget lasts. */
async function readMore<Item>(
  firstPart: ListPart<Item>,
  budget: ByteBudget,
  read: (from: Position) => Promise<Part<Item>>,
  bytesOf: (item: Item) => number,
): Promise<ListPart<Item>> {
  const items: Item[] = [];
  let part: Part<Item> = firstPart;
  for (;;) {
    items.push(...part.items);
    const isFull = !budget.take(totalBytes(part.items, bytesOf));
    if (part.next === null || isFull) return { items, next: part.next };
    await yieldToOthers();
    part = await read(part.next);
  }
}

/** Reads the steps. Their results are included while the budget for results lasts. */
async function readSteps(
  store: HistoryStore,
  { run: { key: runKey }, journalLength: below }: RunHistory,
  resultBudget: ByteBudget,
  rowBudget: ByteBudget,
): Promise<ListPart<ListedStep>> {
  const read = async (from: Position): Promise<Part<ListedStep>> => {
    const part = await store.listSteps({ runKey, from, below, bounds: PART_LIMITS, maxOutBytes: resultBudget.remaining });
    // The last row of a part may exceed the budget.
    resultBudget.take(Math.min(resultBudget.remaining, totalBytes(part.items, stepBytes)));
    return part;
  };
  return readMore(await read('0'), rowBudget, read, ({ name }) => name.length);
}

/**
 * Shortens a long history to at most `maxBytes`. Omits results that do not fit and, if the rows do not fit either, the last
 * rows.
 */
export async function shortenHistory(
  store: HistoryStore,
  history: RunHistory,
  maxBytes: number,
  withResults: boolean,
): Promise<ListedHistory> {
  const { next, ...firstParts } = history;
  const { key: runKey } = history.run;
  const resultBudget = new ByteBudget(withResults ? maxBytes : 0);
  const resultFits = resultBudget.take(omittedResultBytes(history.run));
  const run = resultFits ? ((await withFullResult(store, history.run)) ?? history.run) : history.run;
  const bytesPerList = Math.floor(maxBytes / 3);
  const tasks = await readMore(
    { items: firstParts.tasks, next: next.tasks },
    new ByteBudget(bytesPerList),
    (from) => store.listTasks({ runKey, from, bounds: PART_LIMITS }),
    taskBytes,
  );
  const attempts = await readMore(
    { items: firstParts.attempts, next: next.attempts },
    new ByteBudget(bytesPerList),
    (from) => store.listAttempts({ runKey, from, bounds: PART_LIMITS }),
    attemptBytes,
  );
  const steps = await readSteps(store, history, resultBudget, new ByteBudget(bytesPerList));
  const isShortened = [steps, tasks, attempts].some((list) => list.next !== null);
  return {
    ...firstParts,
    run,
    steps: steps.items,
    tasks: tasks.items,
    attempts: attempts.items,
    ...(isShortened ? { shortened: true } : {}),
  };
}
