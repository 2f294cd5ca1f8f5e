/** Runs as answers show them. */
import type { RunJournal, RunResult, RunState } from '../../contract/runs.js';
import { ADVANCE_SLOT, type FailedAttempt, type RecordedStep, type RunStatus, type Task } from '../../engine/run.js';
import type { RunHistory, RunRecord } from '../../ports/store.js';

const STATES: Readonly<Record<RunStatus, RunState>> = {
  active: 'RUN_STARTED',
  succeeded: 'RUN_SUCCESS',
  failed: 'RUN_FAILED',
  canceled: 'RUN_CANCELED',
};
const STATUSES: Readonly<Record<RunState, RunStatus>> = {
  RUN_STARTED: 'active',
  RUN_SUCCESS: 'succeeded',
  RUN_FAILED: 'failed',
  RUN_CANCELED: 'canceled',
};

export const stateOfRun = (status: RunStatus): RunState => STATES[status];
export const statusOfState = (state: RunState): RunStatus => STATUSES[state];

/** A property that is left out when there is nothing to say. */
export function optional<Name extends string, Value>(name: Name, value: Value | null | undefined): { [N in Name]?: Value } {
  const absent: { [N in Name]?: Value } = {};
  return value === null || value === undefined ? absent : { ...absent, [name]: value };
}

/** The value of a JSON text; a text that is none (an endpoint's fault) as it is. */
export function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const withResult = (run: RunRecord) => (run.result === null ? {} : { result: jsonValue(run.result) });

export interface ReferenceLike {
  readonly workflowRunId: string;
  readonly createdAt: number;
}

export const presentReference = (run: ReferenceLike) => ({
  workflowRunId: run.workflowRunId,
  workflowCreatedAt: run.createdAt,
});

/** Of a run that has ended. */
export function presentResult(run: RunRecord): RunResult {
  const workflowState = stateOfRun(run.status);
  if (workflowState === 'RUN_STARTED') throw new Error(`run ${run.key} has not ended`);
  return { ...presentReference(run), workflowState, ...withResult(run), ...optional('error', run.error) };
}

/** What logs and journals both say of a run. */
export function presentRun(run: RunRecord) {
  const { origin, became, settings } = run;
  return {
    workflowRunId: run.workflowRunId,
    workflowUrl: run.workflowUrl,
    workflowState: stateOfRun(run.status),
    workflowRunCreatedAt: run.createdAt,
    ...optional('workflowRunCompletedAt', run.completedAt),
    ...optional(
      'workflowRunOrigin',
      origin && {
        kind: origin.kind,
        workflowRunId: origin.workflowRunId,
        workflowCreatedAt: origin.workflowCreatedAt,
        dlqId: origin.dlqId,
      },
    ),
    ...optional('workflowRunBecame', became && { kind: became.kind, ...presentReference(became) }),
    ...optional('dlqId', run.dlqId),
    callerIP: run.callerIp,
    ...optional('label', settings.labels[0]),
    labels: [...settings.labels],
    ...optional('flowControlKey', settings.flowControl?.key),
  };
}

const presentRecordedStep = (step: RecordedStep) => ({
  stepId: step.stepId,
  stepName: step.name,
  stepType: step.type,
  messageId: step.messageId,
  ...optional('out', step.out),
  group: step.group,
  concurrent: step.concurrent,
  createdAt: step.createdAt,
  completedAt: step.completedAt,
  ...optional('sleepFor', step.sleepMs),
  ...optional('sleepUntil', step.wakeAt),
});

const presentTask = (task: Task) => ({
  kind: task.kind,
  ...(task.kind === 'advance'
    ? {}
    : { stepId: task.slot, stepName: task.name, stepType: task.kind === 'sleep' ? task.stepType : ('Run' as const) }),
  messageId: task.messageId,
  ...(task.kind === 'sleep' ? {} : { retried: task.retried }),
  ...optional('dueAt', task.dueAt),
  createdAt: task.createdAt,
  ...(task.kind === 'sleep' ? { ...optional('sleepFor', task.sleepMs), sleepUntil: task.wakeAt } : {}),
});

const presentAttempt = (attempt: FailedAttempt) => ({
  ...optional('stepId', attempt.slot === ADVANCE_SLOT ? null : attempt.slot),
  ...optional('stepName', attempt.name),
  messageId: attempt.messageId,
  retried: attempt.retried,
  time: attempt.at,
  cause: attempt.cause,
  error: attempt.message,
  ...optional('status', attempt.status),
  ...optional('retryAt', attempt.retryAt),
});

export function presentJournal({ run, steps, tasks, attempts }: RunHistory): RunJournal {
  const { settings } = run;
  return {
    workflowCreatedAt: run.createdAt,
    ...presentRun(run),
    maxRetries: settings.maxRetries,
    ...optional('retryDelay', settings.retryDelay),
    timeoutMs: settings.deliveryTimeoutMs,
    ...optional('failureCallback', settings.failureCallback?.url),
    ...withResult(run),
    ...optional('error', run.error),
    steps: steps.map(presentRecordedStep),
    tasks: tasks.map(presentTask),
    attempts: attempts.map(presentAttempt),
  };
}
