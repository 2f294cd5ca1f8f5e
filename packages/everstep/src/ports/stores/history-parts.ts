/** Reads the long data of a run: its lists part by part, and a result that its record omits. */
import type { FailedAttempt } from '../../engine/runs/run.js';
import type { HistoryQuery, HistoryStore, ListedStep, ListedTask, Part } from './history-store.js';
import type { Position } from './page.js';
import type { FullRunRecord, RunRecord } from './run-records.js';

/** A limit in bytes that no result exceeds. */
export const NO_LENGTH_LIMIT = 2 ** 30;

/** Yields to other work between two parts. */
export const yieldToOthers = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function* readParts<Item>(read: (from: Position | null) => Promise<Part<Item>>): AsyncGenerator<readonly Item[]> {
  let from: Position | null = null;
  do {
    const part: Part<Item> = await read(from);
    yield part.items;
    from = part.next;
    await yieldToOthers();
  } while (from !== null);
}

/** Reads steps. Rows with the index `below` and higher ones are skipped. */
export const readSteps = (
  store: Pick<HistoryStore, 'listSteps'>,
  query: Omit<HistoryQuery, 'maxOutBytes'> & { readonly below?: number; readonly maxOutBytes?: number },
): AsyncGenerator<readonly ListedStep[]> =>
  readParts((from) => store.listSteps({ maxOutBytes: NO_LENGTH_LIMIT, ...query, from: from ?? '0' }));

export const readTasks = (
  store: Pick<HistoryStore, 'listTasks'>,
  query: Pick<HistoryQuery, 'runKey' | 'bounds'>,
): AsyncGenerator<readonly ListedTask[]> => readParts((from) => store.listTasks({ ...query, from }));

export const readAttempts = (
  store: Pick<HistoryStore, 'listAttempts'>,
  query: Omit<HistoryQuery, 'maxOutBytes'> & { readonly slot?: number },
): AsyncGenerator<readonly FailedAttempt[]> => readParts((from) => store.listAttempts({ ...query, from }));

/** Returns the size in bytes of the result of a run if it is omitted, otherwise 0. */
export const omittedResultBytes = ({ result }: Pick<RunRecord, 'result'>): number =>
  typeof result === 'object' ? (result?.omittedBytes ?? 0) : 0;

/** Returns the record of a run with its whole result, or null if the run was removed before its omitted result was read. */
export async function withFullResult(store: Pick<HistoryStore, 'loadResult'>, run: RunRecord): Promise<FullRunRecord | null> {
  if (typeof run.result !== 'object' || run.result === null) return { ...run, result: run.result };
  const result = await store.loadResult({ runKey: run.key });
  return result === null ? null : { ...run, result };
}
