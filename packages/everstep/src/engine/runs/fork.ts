/**
 * Creates a new run that continues from the middle of another run. It keeps the journal up to a step, and can have a
 * different input, or edited results in place of recorded ones. The other run does not change.
 *
 * The kept part is a prefix of the journal, because positions are a function of the recorded order. The code is therefore in
 * the same state as when only that prefix was recorded. It plans its open steps again. If some of a group of parallel steps are
 * recorded, their positions are in `Run.ahead` until the code has been called. Code that joins the steps it planned together
 * cannot continue in the middle of a group, so the prefix then ends before the group.
 *
 * Stored events and pending tasks belong to the other run. A fork waits, sleeps, calls and invokes independently.
 */
import { LIMITS } from '../../config/limits.js';
import type { DecisionContext } from '../ids.js';
import type { StoreWrite } from '../writes.js';
import { positionsIn } from './positions.js';
import type { RecordedStep, Run, RunOrigin, RunPayload } from './run.js';
import { type StartedRun, startRun } from './start.js';
import { stepTypeOf } from './step-type.js';
import { suppliedResultProblem } from './supplied-result.js';

/** A validated request for a fork. */
export interface ForkRequest {
  /** Position of a step. Steps recorded before it are kept. */
  readonly fromStep: number;
  /** Input of the new run; null keeps the original input. `contentType` undefined keeps the original one. */
  readonly input: { readonly body: Uint8Array; readonly contentType?: string } | null;
  /** Edited results as JSON texts; null for a step without a result. At most one result per step. */
  readonly results: readonly { readonly stepId: number; readonly out: string | null }[];
  readonly workflowRunId: string | null;
  readonly note: string | null;
  /** Time of the admission; see `StartCommand.admittedAt`. */
  readonly admittedAt?: number | null;
}

/** The fork, or the reason why there is none. */
export type ForkDecision =
  | (StartedRun & { readonly kind: 'forked'; readonly payload: RunPayload; readonly edited: readonly number[] })
  /** If `because` is `request`, a different request could succeed; if it is `run`, this run cannot be forked. */
  | { readonly kind: 'refused'; readonly because: 'request' | 'run'; readonly message: string };

const rejection = (because: 'request' | 'run', message: string): ForkDecision => ({ kind: 'refused', because, message });

/** A recorded step. If its result was omitted, `outLeftOut` is the size of the result in bytes. */
export type JournalEntry = RecordedStep & { readonly outLeftOut?: number };

/** The known properties of a planned or recorded step. */
type KnownStep = Pick<RecordedStep, 'name' | 'type' | 'messageId' | 'group' | 'concurrent' | 'createdAt' | 'sleepMs' | 'wakeAt'>;

function knownStep(run: Run, journal: readonly JournalEntry[], stepId: number): KnownStep | null {
  const recordedStep = journal.find((step) => step.stepId === stepId);
  if (recordedStep) return recordedStep;
  const task = run.tasks.get(stepId);
  if (!task || !('name' in task)) return null;
  const { name, messageId, group, concurrent, createdAt } = task;
  const sleep = task.kind === 'sleep' ? { sleepMs: task.sleepMs, wakeAt: task.wakeAt } : { sleepMs: null, wakeAt: null };
  return { name, type: stepTypeOf(task), messageId, group, concurrent, createdAt, ...sleep };
}

/** Returns the last position that the code has requested. */
function lastPosition(run: Run, journal: readonly JournalEntry[]): number {
  return journal.reduce((lastStepId, { stepId }) => Math.max(lastStepId, stepId), run.nextStepId - 1);
}

/** Returns the number of kept entries. */
function keptLength(run: Run, journal: readonly JournalEntry[], fromStep: number): number {
  const recordedIndex = journal.findIndex(({ stepId }) => stepId === fromStep);
  let length = recordedIndex < 0 ? journal.length : recordedIndex;
  if (!run.settings.steps?.joined) return length;
  const keptPerGroup = new Map<number, number>();
  for (const { group } of journal.slice(0, length)) keptPerGroup.set(group, (keptPerGroup.get(group) ?? 0) + 1);
  const incompleteIndex = journal
    .slice(0, length)
    .findIndex(({ group, concurrent }) => (keptPerGroup.get(group) ?? 0) < concurrent);
  if (incompleteIndex >= 0) length = incompleteIndex;
  return length;
}

/** The journal of the fork. */
interface ForkedJournal {
  /** Number of entries that are copied from the other run, unchanged or edited. */
  readonly length: number;
  /** Edited entries, and the supplied entry after them. */
  readonly editedSteps: readonly RecordedStep[];
}

/** Returns the journal of the fork, or the problem of the request. */
function editJournal(run: Run, journal: readonly JournalEntry[], request: ForkRequest, now: number): ForkedJournal | string {
  const length = keptLength(run, journal, request.fromStep);
  const editedSteps: RecordedStep[] = [];
  for (const { stepId, out } of request.results) {
    const properties = knownStep(run, journal, stepId);
    const keptIndex = journal.findIndex((step, index) => index < length && step.stepId === stepId);
    if (stepId !== request.fromStep && keptIndex < 0) {
      return `step ${stepId} cannot be given a result because it is not kept: only steps recorded before step ${request.fromStep}, and that step itself, can be given one`;
    }
    if (properties === null)
      return `step ${stepId} cannot be given a result because the run has not reached it, so its name is not known`;
    const problem = suppliedResultProblem(properties.type, out, run.settings.steps);
    if (problem !== null) return `step ${stepId} (${JSON.stringify(properties.name)}) ${problem}`;
    const bytes = Buffer.byteLength(out ?? '');
    if (bytes > LIMITS.maxStepResultBytes)
      return `the result of step ${stepId} has ${bytes} bytes, over the limit of ${LIMITS.maxStepResultBytes} (maxStepResultBytes)`;
    const entry = keptIndex < 0 ? null : (journal[keptIndex] ?? null);
    if (entry === null && properties.concurrent > 1 && run.settings.steps?.joined) {
      return `step ${stepId} cannot be given a result because it was planned together with other steps, and this endpoint can only run them together`;
    }
    editedSteps.push(entry ? editedStep(entry, out) : suppliedStep(properties, { stepId, out, index: length, now }));
  }
  return { length, editedSteps };
}

const editedStep = ({ outLeftOut: _, ...entry }: JournalEntry, out: string | null): RecordedStep => ({
  ...entry,
  out,
  edited: true,
});

const suppliedStep = (
  properties: KnownStep,
  { now, ...fields }: { readonly stepId: number; readonly out: string | null; readonly index: number; readonly now: number },
): RecordedStep => {
  const { name, type, messageId, group, concurrent, createdAt, sleepMs, wakeAt } = properties;
  return { ...fields, name, type, messageId, group, concurrent, createdAt, completedAt: now, sleepMs, wakeAt, edited: true };
};

/** Forks `original`. `journal` contains all its recorded steps, possibly without results; `payload` is its input. */
export function forkRun(
  original: Run,
  journal: readonly JournalEntry[],
  payload: RunPayload,
  request: ForkRequest,
  context: DecisionContext,
): ForkDecision {
  if (original.settings.message)
    return rejection('run', 'a plain message has no steps, so it cannot be forked; restart it instead');
  const lastStepId = lastPosition(original, journal);
  const { fromStep, note, input } = request;
  if (fromStep > lastStepId + 1) {
    return rejection(
      'request',
      `fromStep must be a step of the run or the position after its last step, so at most ${lastStepId + 1}, not ${fromStep}`,
    );
  }
  const forkedJournal = editJournal(original, journal, request, context.now);
  if (typeof forkedJournal === 'string') return rejection('request', forkedJournal);
  const editedByIndex = new Map(forkedJournal.editedSteps.map((step) => [step.index, step]));
  const steps: JournalEntry[] = journal.slice(0, forkedJournal.length).map((step) => editedByIndex.get(step.index) ?? step);
  const suppliedEntry = editedByIndex.get(forkedJournal.length);
  if (suppliedEntry) steps.push(suppliedEntry);
  const journalBytes = steps.reduce((sum, { out, outLeftOut }) => sum + (outLeftOut ?? out?.length ?? 0), 0);
  if (journalBytes > LIMITS.maxJournalBytes)
    return rejection('request', `the results exceed ${LIMITS.maxJournalBytes} bytes in total (maxJournalBytes)`);

  const newPayload: RunPayload =
    input === null ? payload : { ...payload, body: input.body, contentType: input.contentType ?? payload.contentType };
  const origin: RunOrigin = {
    kind: 'fork',
    runKey: original.key,
    workflowRunId: original.workflowRunId,
    workflowCreatedAt: original.createdAt,
    stepId: fromStep,
    ...(note === null ? {} : { note }),
    ...(input === null ? {} : { input: 'edited' }),
  };
  const { instanceId, dialect, workflowUrl, settings, callerIp } = original;
  const startSettings = { instanceId, dialect, workflowUrl, settings, callerIp, payload: newPayload, origin };
  const startedRun = startRun(
    {
      ...startSettings,
      workflowRunId: request.workflowRunId,
      notBefore: null,
      deduplicationId: null,
      admittedAt: request.admittedAt,
      keepsLimits: true,
    },
    context,
  );
  const run: Run = {
    ...startedRun.run,
    ...positionsIn(steps.map(({ stepId }) => stepId)),
    journalLength: steps.length,
    journalBytes,
    hasFailureFunction: original.hasFailureFunction,
  };
  const [, ...otherWrites] = startedRun.unit.writes;
  const writes: StoreWrite[] = [
    { kind: 'create-run', run, input: input === null ? { copyOf: original.key } : newPayload },
    {
      kind: 'copy-journal',
      fromRunKey: original.key,
      toRunKey: run.key,
      length: forkedJournal.length,
      without: [...editedByIndex.keys()],
    },
    ...forkedJournal.editedSteps.map((step): StoreWrite => ({ kind: 'record-step', runKey: run.key, step })),
    ...(run.hasFailureFunction ? [{ kind: 'note-failure-function', runKey: run.key } as const] : []),
    ...otherWrites,
  ];
  return {
    kind: 'forked',
    run,
    keepsLimits: startedRun.keepsLimits,
    payload: newPayload,
    edited: forkedJournal.editedSteps.map(({ stepId }) => stepId),
    unit: { guards: [{ kind: 'run-present', runKey: original.key }, ...startedRun.unit.guards], writes },
  };
}
