/** Builds the request of a task: the run, and the journal entries that the worker does not hold. Keeps invariant 2. */
import {
  type CheckpointLimits,
  type JournalEntry,
  PROTOCOL_VERSION,
  type RunInput,
  type StepRequest,
  type TraceContext,
} from '@everstep/sdk/protocol';
import { LIMITS } from '../../../config/limits.js';
import { ADVANCE_SLOT, type RecordedStep, type RunPayload, type StepTask, type Task } from '../../../engine/runs/run.js';
import { hasIntroducedItself } from '../../../engine/runs/submissions.js';
import { LONG_BYTES, type WorkSlices } from '../../../fairness/work-slices.js';
import type { StepCall } from '../../../ports/step-caller.js';
import type { Store } from '../../../ports/stores/store.js';
import { EMPTY_JOURNAL, extendPrefix, type HeldJournal, type JournalPrefix, recordDigest } from '../../runs/holds.js';
import type { CachedRun } from '../../runs/run-cache.js';
import { encodeBody } from './encoded-body.js';

/** A journal below this size is sent as a whole after some misses, because the worker may have dropped the run. */
const SMALL_JOURNAL_BYTES = 64 * 1024;
const MAX_TOLERATED_MISSES = 2;
const CHECKPOINT: CheckpointLimits = { maxSteps: LIMITS.maxCheckpointSteps, maxChars: LIMITS.maxCheckpointChars };

export function encodeInput(payload: RunPayload): RunInput {
  return {
    body: encodeBody(payload.body),
    ...(payload.contentType === null ? {} : { contentType: payload.contentType }),
    headers: payload.forwardHeaders,
  };
}

/** Returns the entries that need not be sent because the worker holds them; null if the whole journal must be sent. */
export function journalHeldByWorker({ hold, misses, durableRun }: CachedRun): HeldJournal | null {
  if (hold === null || hold.length === 0) return null;
  if (misses >= MAX_TOLERATED_MISSES && durableRun.journalBytes < SMALL_JOURNAL_BYTES) return null;
  return hold;
}

/** The parts of a call that its task determines. */
type StepCallParts = Pick<StepCall, 'request' | 'recordedSteps' | 'openSteps' | 'payload' | 'hasIntroducedItself'>;

/** Inputs of a request. */
export interface RequestSources {
  readonly store: Pick<Store, 'loadJournal' | 'loadPayload'>;
  /** Slices in which long journals are read. */
  readonly slices: Pick<WorkSlices, 'run'>;
}

const entryOf = ({ stepId, name, type, out }: RecordedStep): JournalEntry =>
  out === null ? { stepId, name, type } : { stepId, name, type, out };

/** The journal entries that the worker does not hold, and the mark after them. */
interface UnsentJournal {
  readonly recordedSteps: readonly RecordedStep[];
  readonly entries: readonly JournalEntry[];
  readonly endMark: JournalPrefix;
}

/** Reads the entries after `start`. Digests no entry twice, unless a later request was built in the meantime. */
async function readUnsent({ store, slices }: RequestSources, entry: CachedRun, start: JournalPrefix): Promise<UnsentJournal> {
  const { key: runKey, instanceId, journalLength: length, journalBytes } = entry.durableRun;
  const { digestedPrefix } = entry;
  let endMark = digestedPrefix.length >= start.length && digestedPrefix.length <= length ? digestedPrefix : start;
  const recordedSteps: RecordedStep[] = [];
  const entries: JournalEntry[] = [];
  const append = (steps: readonly RecordedStep[]): void => {
    const from = start.length + entries.length;
    for (const step of steps.slice(0, length - from)) {
      recordedSteps.push(step);
      entries.push(entryOf(step));
    }
    const undigestedEntries = entries.slice(Math.max(0, endMark.length - start.length));
    if (undigestedEntries.length > 0) endMark = extendPrefix(endMark, undigestedEntries);
  };
  const unsentBytes = length === 0 ? 0 : (journalBytes * (length - start.length)) / length;
  if (unsentBytes < LONG_BYTES) {
    if (start.length < length) append(await store.loadJournal({ runKey, from: start.length }));
    return { recordedSteps, entries, endMark };
  }
  for (let from = start.length; from < length; from = start.length + entries.length) {
    const lengthBefore = entries.length;
    await slices.run(instanceId, async () => append(await store.loadJournal({ runKey, from, maxBytes: LONG_BYTES })));
    if (entries.length === lengthBefore) break;
  }
  return { recordedSteps, entries, endMark };
}

/** Builds the request. Resolves with it and the mark after the last journal entry that it contains. */
export async function buildStepRequest(
  sources: RequestSources,
  entry: CachedRun,
  task: Extract<Task, { kind: 'advance' | 'step' }>,
  heldJournal: HeldJournal | null,
  trace: TraceContext | undefined,
): Promise<{ readonly callParts: StepCallParts; readonly endMark: JournalPrefix }> {
  const run = entry.durableRun;
  const start: JournalPrefix = heldJournal ?? EMPTY_JOURNAL;
  const from = start.length;
  const length = run.journalLength;
  const { recordedSteps, entries, endMark } = await readUnsent(sources, entry, start);
  recordDigest(entry, endMark);
  let payload: RunPayload | null = null;
  let input: RunInput | undefined;
  if (from === 0) {
    payload = entry.payload ?? (await sources.store.loadPayload({ runKey: run.key }));
    if (payload === null) throw new Error(`run ${run.key} has no payload`);
    input = encodeInput(payload);
  }
  const request: StepRequest = {
    protocol: PROTOCOL_VERSION,
    run: {
      key: run.key,
      id: run.workflowRunId,
      createdAt: run.createdAt,
      workflowUrl: run.workflowUrl,
      labels: run.settings.labels,
    },
    messageId: task.messageId,
    retried: task.retried,
    maxRetries: run.settings.maxRetries,
    target: task.slot === ADVANCE_SLOT ? null : task.slot,
    known: run.nextStepId,
    ...(run.ahead ? { ahead: run.ahead } : {}),
    journal: { from, ...(heldJournal ? { worker: heldJournal.worker } : {}), digest: start.digest, length, entries },
    checkpoint: CHECKPOINT,
    ...(trace ? { trace } : {}),
    ...(input ? { input } : {}),
  };
  const callParts: StepCallParts = {
    request,
    recordedSteps,
    openSteps: [...run.tasks.values()].filter(
      (openTask): openTask is StepTask => openTask.kind !== 'advance' && openTask.kind !== 'callback',
    ),
    hasIntroducedItself: hasIntroducedItself(run),
    ...(payload ? { payload } : {}),
  };
  return { callParts, endMark };
}
