/** Presents runs. */
import { parseJson } from '@everstep/sdk/protocol';
import type { Waiting } from '../../contract/fields/wait-reason.js';
import type { FoundRun, JournalStep, RunJournal, RunOriginLink, RunResult } from '../../contract/runs.js';
import type { RunState } from '../../contract/states.js';
import {
  CALLBACK_SLOT,
  type FailedAttempt,
  type Redaction,
  type RunOrigin,
  type RunPayload,
  type RunStatus,
  type Task,
} from '../../engine/runs/run.js';
import { stepTypeOf } from '../../engine/runs/step-type.js';
import type { FullRunRecord, ListedStep, RunHistory, RunRecord } from '../../ports/stores/store.js';
import { presentFailureFunction } from './failure-function.js';
import { optional } from './optional.js';
import { redactJson, redactStepResult } from './redaction.js';
import { presentInput } from './run-input.js';
import { fieldsOfRecorded, fieldsOfTask, type InvokedByStep, invokedByStep, isStepTask } from './step-fields.js';
import { presentThrown } from './thrown-error.js';

const STATES: Readonly<Record<RunStatus, RunState>> = {
  active: 'RUN_STARTED',
  succeeded: 'RUN_SUCCESS',
  failed: 'RUN_FAILED',
  canceled: 'RUN_CANCELED',
};

export const stateOfRun = (status: RunStatus): RunState => STATES[status];

/** Parses JSON text. Returns invalid JSON, which an endpoint may have sent, unchanged. */
export function jsonValue(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

const presentRunResult = (run: FullRunRecord, redact: Redaction | undefined) =>
  run.result === null ? {} : { result: jsonValue(redactJson(run.result, redact)) };

/** Fields of a run that identify it in responses. */
export interface RunIdentity {
  readonly workflowRunId: string;
  readonly createdAt: number;
}

export const presentReference = (run: RunIdentity) => ({
  workflowRunId: run.workflowRunId,
  workflowCreatedAt: run.createdAt,
});

/**
 * Presents the result of a run that has ended, for the caller that started it. With `isRedacted`, applies the redaction of the
 * run, for other readers.
 */
export function presentResult(run: FullRunRecord, isRedacted = false): RunResult {
  const workflowState = stateOfRun(run.status);
  if (workflowState === 'RUN_STARTED') throw new Error(`run ${run.key} has not ended`);
  return {
    ...presentReference(run),
    workflowState,
    ...presentRunResult(run, isRedacted ? run.settings.redact : undefined),
    ...optional('error', run.error),
  };
}

function presentOrigin(origin: RunOrigin): RunOriginLink {
  if (origin.kind === 'schedule') return { kind: origin.kind, scheduleId: origin.scheduleId };
  const { kind, workflowRunId, workflowCreatedAt } = origin;
  const commonFields = { kind, workflowRunId, workflowCreatedAt };
  switch (origin.kind) {
    case 'invoke':
      return { ...commonFields, stepId: origin.stepId, stepName: origin.stepName };
    case 'fork':
      return {
        ...commonFields,
        stepId: origin.stepId,
        ...optional('note', origin.note),
        ...(origin.input === 'edited' ? { inputEdited: true } : {}),
      };
    default:
      return { ...commonFields, dlqId: origin.dlqId };
  }
}

/** Presents the result of a step, unless it is omitted. */
export const presentStepResult = ({ type, out, outLeftOut }: ListedStep, redact: Redaction | undefined) => ({
  ...optional('out', out === null ? null : redactStepResult(type, out, redact)),
  ...optional('outLeftOut', outLeftOut),
});

/** Presents the invoked runs and the failure callback, which logs and journals share. */
export function presentHistory(history: Pick<RunHistory, 'run' | 'invoked' | 'tasks' | 'attempts'>) {
  const invokedRuns = history.invoked.map((invokedRun) => ({
    stepId: invokedRun.stepId,
    ...presentReference(invokedRun),
    workflowState: stateOfRun(invokedRun.status),
  }));
  return {
    ...optional('invokedRuns', invokedRuns.length > 0 ? invokedRuns : null),
    ...optional('failureFunctionInfo', presentFailureFunction(history, null)),
  };
}

/** Presents the fields of a run that logs, journals and search results share. */
export function presentRun(run: RunRecord) {
  const { origin, recoveredAs, settings } = run;
  return {
    workflowRunId: run.workflowRunId,
    workflowUrl: run.workflowUrl,
    workflowState: stateOfRun(run.status),
    workflowRunCreatedAt: run.createdAt,
    ...optional('workflowRunCompletedAt', run.completedAt),
    ...optional('workflowRunOrigin', origin && presentOrigin(origin)),
    ...optional('workflowRunBecame', recoveredAs && { kind: recoveredAs.kind, ...presentReference(recoveredAs) }),
    ...optional('dlqId', run.dlqId),
    callerIP: run.callerIp,
    ...optional('label', settings.labels[0]),
    labels: [...settings.labels],
    ...optional('flowControlKey', settings.flowControl?.key),
  };
}

/** Presents a run without its steps and its result. */
export const presentFoundRun = (run: RunRecord, waiting: Waiting | undefined): FoundRun => ({
  ...presentRun(run),
  ...optional('waiting', waiting),
  ...optional('workflowRunError', run.error),
});

export const presentJournalStep = (step: ListedStep, redact: Redaction | undefined, invokedRuns: InvokedByStep): JournalStep => ({
  stepId: step.stepId,
  stepName: step.name,
  stepType: step.type,
  messageId: step.messageId,
  ...presentStepResult(step, redact),
  ...(step.edited ? { edited: true as const } : {}),
  group: step.group,
  concurrent: step.concurrent,
  createdAt: step.createdAt,
  ...optional('startedAt', step.startedAt),
  completedAt: step.completedAt,
  ...fieldsOfRecorded(step, invokedRuns),
});

export const presentTask = (task: Task, redact: Redaction | undefined) => ({
  kind: task.kind,
  ...(isStepTask(task) ? { stepId: task.slot, stepName: task.name, stepType: stepTypeOf(task) } : {}),
  messageId: task.messageId,
  ...('retried' in task ? { retried: task.retried } : {}),
  ...optional('dueAt', task.dueAt),
  createdAt: task.createdAt,
  ...fieldsOfTask(task, redact),
});

export const presentAttempt = (attempt: FailedAttempt) => ({
  ...optional('stepId', attempt.slot > 0 ? attempt.slot : null),
  ...optional('stepName', attempt.name),
  messageId: attempt.messageId,
  retried: attempt.retried,
  time: attempt.at,
  cause: attempt.cause,
  error: attempt.message,
  ...optional('status', attempt.status),
  ...optional('startedAt', attempt.exchange?.startedAt ?? null),
  ...optional('retryAt', attempt.retryAt),
  ...optional('thrown', presentThrown(attempt.thrown)),
});

/** Lists of a journal, which are either complete or read while they are sent. */
export type JournalLists = Pick<RunJournal, 'steps' | 'tasks' | 'attempts'>;

/** Returns the lists of a short journal. */
export function journalLists({ run, steps, tasks, attempts, invoked }: RunHistory): JournalLists {
  const { redact } = run.settings;
  const invokedRuns = invokedByStep(invoked);
  return {
    steps: steps.map((step) => presentJournalStep(step, redact, invokedRuns)),
    tasks: tasks.map((task) => presentTask(task, redact)),
    attempts: attempts.filter(isRunAttempt).map(presentAttempt),
  };
}

/** Returns whether the attempt belongs to the run. Attempts of the failure callback do not. */
export const isRunAttempt = ({ slot }: FailedAttempt): boolean => slot !== CALLBACK_SLOT;

/** History of a run without its steps. */
interface JournalHistory extends Pick<RunHistory, 'invoked' | 'tasks' | 'attempts' | 'keptEvents'> {
  readonly run: FullRunRecord;
}

/** Presents a run with its journal. `payload` is the input of the run, or null if it was removed or is not shown. */
export function presentJournal<Lists>(
  history: JournalHistory,
  payload: RunPayload | null,
  lists: Lists,
  waiting: Waiting | undefined,
): Omit<RunJournal, keyof JournalLists> & Lists {
  const { run, keptEvents } = history;
  const { settings } = run;
  const presentedEvents = keptEvents.map(({ eventId, receivedAt }) => ({ eventId, receivedAt }));
  return {
    workflowCreatedAt: run.createdAt,
    ...presentRun(run),
    ...optional('waiting', waiting),
    maxRetries: settings.maxRetries,
    ...optional('retryDelay', settings.retryDelay),
    timeoutMs: settings.deliveryTimeoutMs,
    ...optional('failureCallback', settings.failureCallback?.url),
    ...optional('input', payload && presentInput(payload, settings.redact)),
    ...presentRunResult(run, settings.redact),
    ...optional('error', run.error),
    ...presentHistory(history),
    ...lists,
    ...optional('keptEvents', presentedEvents.length > 0 ? presentedEvents : null),
  };
}
