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
import type { StepCall } from '../../../ports/step-caller.js';
import type { Store } from '../../../ports/stores/store.js';
import { EMPTY_JOURNAL, type HeldJournal, type JournalMark, markBehind, noteDigest } from '../../runs/holds.js';
import type { CachedRun } from '../../runs/run-cache.js';
import { encodeBody } from './encoded-body.js';

/** A shorter journal is sent whole after some misses, because the worker may have dropped the run. */
const SMALL_JOURNAL_BYTES = 64 * 1024;
const MISSES_TOLERATED = 2;
const CHECKPOINT: CheckpointLimits = { maxSteps: LIMITS.maxCheckpointSteps, maxChars: LIMITS.maxCheckpointChars };

export function encodeInput(payload: RunPayload): RunInput {
  return {
    body: encodeBody(payload.body),
    ...(payload.contentType === null ? {} : { contentType: payload.contentType }),
    headers: payload.forwardHeaders,
  };
}

/** Returns the entries that need not be sent because the worker holds them; null if the whole journal must be sent. */
export function heldJournal({ hold, misses, durable }: CachedRun): HeldJournal | null {
  if (hold === null || hold.length === 0) return null;
  if (misses >= MISSES_TOLERATED && durable.journalBytes < SMALL_JOURNAL_BYTES) return null;
  return hold;
}

/** Returns the mark after the entries. Digests no entry twice, unless a later request was built in the meantime. */
function markOf({ digested }: CachedRun, start: JournalMark, length: number, entries: readonly JournalEntry[]): JournalMark {
  const known = digested.length >= start.length && digested.length <= length ? digested : start;
  return markBehind(known, entries.slice(known.length - start.length));
}

type BuiltRequest = Pick<StepCall, 'request' | 'recorded' | 'open' | 'payload' | 'introduced'>;

/** Resolves with the request and the mark after the last journal entry that it contains. */
export async function buildStepRequest(
  store: Store,
  entry: CachedRun,
  task: Extract<Task, { kind: 'advance' | 'step' }>,
  held: HeldJournal | null,
  trace: TraceContext | undefined,
): Promise<{ readonly built: BuiltRequest; readonly shown: JournalMark }> {
  const run = entry.durable;
  const start: JournalMark = held ?? EMPTY_JOURNAL;
  const from = start.length;
  const length = run.journalLength;
  let recorded: readonly RecordedStep[] = [];
  if (from < length) recorded = (await store.loadJournal({ runKey: run.key, from })).slice(0, length - from);
  const entries = recorded.map(
    ({ stepId, name, type, out }): JournalEntry => (out === null ? { stepId, name, type } : { stepId, name, type, out }),
  );
  const shown = markOf(entry, start, length, entries);
  noteDigest(entry, shown);
  let payload: RunPayload | null = null;
  let input: RunInput | undefined;
  if (from === 0) {
    payload = entry.payload ?? (await store.loadPayload({ runKey: run.key }));
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
    known: run.known,
    ...(run.ahead ? { ahead: run.ahead } : {}),
    journal: { from, ...(held ? { worker: held.worker } : {}), digest: start.digest, length, entries },
    checkpoint: CHECKPOINT,
    ...(trace ? { trace } : {}),
    ...(input ? { input } : {}),
  };
  const built: BuiltRequest = {
    request,
    recorded,
    open: [...run.tasks.values()].filter((open): open is StepTask => open.kind !== 'advance' && open.kind !== 'callback'),
    introduced: (run.settings.steps?.introduced ?? true) || length > 0 || run.quietAt >= 0,
    ...(payload ? { payload } : {}),
  };
  return { built, shown };
}
