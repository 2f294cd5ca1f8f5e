/** Reads dead letters with their bodies. A page ends before the entry that would make it too large. */
import { LIMITS, PART_LIMITS } from '../../config/limits.js';
import { CALLBACK_SLOT } from '../../engine/runs/run.js';
import type {
  DeadLetterRecord,
  DeadLetterStore,
  FullDeadLetter,
  HistoryStore,
  Listing,
  Position,
  RunHistory,
} from '../../ports/stores/store.js';
import type { Reserve } from '../admission/read-budget.js';

const bytesOf = ({ bodyBytes, responseBytes, error }: DeadLetterRecord): number =>
  bodyBytes + responseBytes + error.length + LIMITS.assumedRowBytes;

/** Returns the entries that still exist, with their bodies. */
async function readWithBodies(store: DeadLetterStore, entries: readonly DeadLetterRecord[]): Promise<readonly FullDeadLetter[]> {
  const [firstEntry] = entries;
  if (!firstEntry) return [];
  const dlqIds = entries.map(({ dlqId }) => dlqId);
  const bodies = await store.loadDeadLetterBodies({ instanceId: firstEntry.instanceId, dlqIds });
  return entries.flatMap((entry) => {
    const entryBodies = bodies.get(entry.dlqId);
    return entryBodies ? [{ ...entry, ...entryBodies }] : [];
  });
}

export interface DeadLetterPage {
  readonly entries: readonly FullDeadLetter[];
  /** Start of the next page; null at the end. */
  readonly next: Position | null;
}

/** Reads a page. It always contains the first entry, whatever its size. */
export async function readDeadLetters(
  store: DeadLetterStore,
  { items, next }: Listing<DeadLetterRecord>,
  reserve: Reserve,
): Promise<DeadLetterPage> {
  let bytes = 0;
  let entryCount = 0;
  for (const entry of items) {
    const totalBytes = bytes + bytesOf(entry);
    if (entryCount > 0 && totalBytes > LIMITS.maxPageBytes) break;
    bytes = totalBytes;
    entryCount++;
  }
  await reserve(bytes);
  const pageItems = items.slice(0, entryCount);
  const entries = await readWithBodies(store, pageItems);
  return { entries, next: entryCount < items.length ? (pageItems.at(-1)?.position ?? null) : next };
}

/** Returns the entry with its bodies, or null if it does not exist. */
export async function readDeadLetter(
  store: DeadLetterStore,
  query: { readonly instanceId: string; readonly dlqId: string },
  reserve: Reserve,
): Promise<FullDeadLetter | null> {
  const entry = await store.findDeadLetter(query);
  if (!entry) return null;
  await reserve(bytesOf(entry));
  const [wholeEntry] = await readWithBodies(store, [entry]);
  return wholeEntry ?? null;
}

/** Data about the failure callback of a run. */
export type CallbackHistory = Pick<RunHistory, 'run' | 'tasks' | 'attempts'>;

/** Returns the history of the failure callback, or null when there is none. */
export async function callbackHistory(
  store: HistoryStore,
  { failureFunctionState, run }: DeadLetterRecord,
): Promise<CallbackHistory | null> {
  if (failureFunctionState === null) return null;
  const query = { runKey: run.key, bounds: PART_LIMITS, from: null };
  // The task of the failure callback has the lowest slot, so the first part contains it.
  const [{ items: tasks }, { items: attempts }] = await Promise.all([
    store.listTasks(query),
    store.listAttempts({ ...query, slot: CALLBACK_SLOT }),
  ]);
  return { run, tasks, attempts };
}
