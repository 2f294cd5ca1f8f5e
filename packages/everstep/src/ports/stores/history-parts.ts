/** Reads the long lists of a run part by part. */
import type { FailedAttempt } from '../../engine/runs/run.js';
import type { HistoryQuery, HistoryStore, ListedStep, ListedTask, Part } from './history-store.js';
import type { Position } from './page.js';

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
export const stepsOf = (
  store: Pick<HistoryStore, 'listSteps'>,
  query: Omit<HistoryQuery, 'maxOutBytes'> & { readonly below?: number; readonly maxOutBytes?: number },
): AsyncGenerator<readonly ListedStep[]> =>
  readParts((from) => store.listSteps({ maxOutBytes: NO_LENGTH_LIMIT, ...query, from: from ?? '0' }));

export const tasksOf = (
  store: Pick<HistoryStore, 'listTasks'>,
  query: Pick<HistoryQuery, 'runKey' | 'bounds'>,
): AsyncGenerator<readonly ListedTask[]> => readParts((from) => store.listTasks({ ...query, from }));

export const attemptsOf = (
  store: Pick<HistoryStore, 'listAttempts'>,
  query: Omit<HistoryQuery, 'maxOutBytes'> & { readonly slot?: number },
): AsyncGenerator<readonly FailedAttempt[]> => readParts((from) => store.listAttempts({ ...query, from }));
