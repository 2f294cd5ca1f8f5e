/**
 * Presents the log of a run: its steps in groups, in the order in which the code requested them, with their failed
 * attempts. A group contains the steps that were planned together. Steps that are being attempted and belong to no group
 * yet are in the group `next`.
 */
import type { Waiting } from '../../contract/fields/wait-reason.js';
import type { LoggedStep, RunLogEntry, StepGroup } from '../../contract/runs.js';
import type { StepState } from '../../contract/states.js';
import {
  ADVANCE_SLOT,
  CALLBACK_SLOT,
  type FailedAttempt,
  type RunStatus,
  type StepTask,
  type Task,
} from '../../engine/runs/run.js';
import { stepTypeOf } from '../../engine/runs/step-type.js';
import { omittedResultBytes } from '../../ports/stores/history-parts.js';
import type { ListedStep, RunRecord } from '../../ports/stores/store.js';
import type { ListedHistory } from '../read-models/run-histories.js';
import { presentError } from './failure-function.js';
import { optional } from './optional.js';
import { redactJson } from './redaction.js';
import { presentHistory, presentRun, presentStepResult } from './run.js';
import { fieldsOfRecorded, fieldsOfTask, type InvokedByStep, invokedByStep, isStepTask } from './step-fields.js';

export interface RunLogOptions {
  /** Omits the results of steps and of the run. */
  readonly trimBody: boolean;
  /** Reasons why the runs are waiting, by run key. */
  readonly waits: ReadonlyMap<string, Waiting>;
}

/** Groups failed attempts by step. Attempts without a step are separate. */
class AttemptsByStep {
  private readonly bySlot = new Map<number, FailedAttempt[]>();
  private readonly byMessage = new Map<string, FailedAttempt[]>();

  constructor(attempts: readonly FailedAttempt[]) {
    for (const attempt of attempts) {
      // An attempt on the code between steps belongs to the step that its message led to, if any.
      if (attempt.slot === ADVANCE_SLOT) addToList(this.byMessage, attempt.messageId, attempt);
      else addToList(this.bySlot, attempt.slot, attempt);
    }
  }

  /** Removes and returns the attempts of a step. */
  takeAttempts(slot: number, messageId: string): readonly FailedAttempt[] {
    const stepAttempts = [...(this.byMessage.get(messageId) ?? []), ...(this.bySlot.get(slot) ?? [])];
    this.byMessage.delete(messageId);
    this.bySlot.delete(slot);
    return stepAttempts;
  }

  /** Returns the attempts that were not taken, in groups. */
  remainingGroups(): readonly (readonly FailedAttempt[])[] {
    return [...this.byMessage.values(), ...this.bySlot.values()];
  }
}

function addToList<Key>(map: Map<Key, FailedAttempt[]>, key: Key, attempt: FailedAttempt): void {
  const list = map.get(key);
  if (list) list.push(attempt);
  else map.set(key, [attempt]);
}

const errorsField = (attempts: readonly FailedAttempt[]) =>
  optional('errors', attempts.length > 0 ? attempts.map(presentError) : null);

function presentRecordedStep(
  step: ListedStep,
  attempts: readonly FailedAttempt[],
  { settings }: RunRecord,
  invokedRuns: InvokedByStep,
  options: RunLogOptions,
): LoggedStep {
  return {
    stepId: step.stepId,
    stepName: step.name,
    stepType: step.type,
    callType: 'step',
    messageId: step.messageId,
    ...(options.trimBody ? {} : presentStepResult(step, settings.redact)),
    ...(step.edited ? { edited: true as const } : {}),
    concurrent: step.concurrent,
    state: 'STEP_SUCCESS',
    createdAt: step.createdAt,
    ...fieldsOfRecorded(step, invokedRuns),
    ...errorsField(attempts),
  };
}

/** Returns the state of a step without a result. */
function stateWithoutResult(status: RunStatus, attempts: readonly FailedAttempt[]): StepState {
  const lastAttempt = attempts.at(-1);
  if (status === 'active') return lastAttempt ? 'STEP_RETRY' : 'STEP_PROGRESS';
  return status === 'failed' && lastAttempt?.retryAt === null ? 'STEP_FAILED' : 'STEP_CANCELED';
}

/**
 * Returns the state of an invoke step of a failed run. The invoked run continues, and a resume uses its outcome as the
 * result of the step. Returns null for other steps, and if no run was invoked yet.
 */
function invokeState(task: Task, { run }: ListedHistory, invokedRuns: InvokedByStep): StepState | null {
  const invokedRun = run.status === 'failed' && task.kind === 'invoke' ? invokedRuns.get(task.slot) : undefined;
  return invokedRun ? (invokedRun.status === 'active' ? 'STEP_PROGRESS' : 'STEP_SUCCESS') : null;
}

type RunTask = Exclude<Task, { readonly kind: 'callback' }>;

/** Presents a task without a recorded result. */
function presentUnrecordedTask(
  task: RunTask,
  history: ListedHistory,
  invokedRuns: InvokedByStep,
  attempts: readonly FailedAttempt[],
): LoggedStep {
  const { status, settings } = history.run;
  const step = isStepTask(task) ? { stepId: task.slot, stepName: task.name, stepType: stepTypeOf(task) } : {};
  return {
    ...step,
    callType: 'step',
    messageId: task.messageId,
    concurrent: isStepTask(task) ? task.concurrent : 1,
    state: invokeState(task, history, invokedRuns) ?? stateWithoutResult(status, attempts),
    createdAt: task.createdAt,
    ...fieldsOfTask(task, settings.redact),
    ...errorsField(attempts),
  };
}

/** Presents attempts that belong to no step: the code between steps failed and continued at the next attempt. */
function presentUnassignedAttempts(attempts: readonly FailedAttempt[], createdAt: number): LoggedStep {
  const [firstAttempt] = attempts;
  return {
    ...optional('stepName', firstAttempt?.name),
    callType: 'step',
    messageId: firstAttempt?.messageId ?? '',
    concurrent: 1,
    state: attempts.at(-1)?.retryAt === null ? 'STEP_FAILED' : 'STEP_RETRY',
    createdAt,
    ...errorsField(attempts),
  };
}

/** A group with its start time, by which groups are sorted. */
interface TimedGroup {
  readonly at: number;
  readonly group: StepGroup;
}

/** Presents the log of a run. */
export function presentRunLog(history: ListedHistory, options: RunLogOptions): RunLogEntry {
  const { run, steps } = history;
  const invokedRuns = invokedByStep(history.invoked);
  // The failure callback is not a step of the run.
  const tasks = history.tasks.filter((task) => task.kind !== 'callback');
  const attempts = new AttemptsByStep(history.attempts.filter(({ slot }) => slot !== CALLBACK_SLOT));
  const { redact } = run.settings;
  const groups = new Map<
    number,
    { readonly concurrent: number; readonly at: number; readonly members: Map<number, LoggedStep> }
  >();
  const getOrCreateMembers = (groupId: number, concurrent: number, at: number) => {
    const group = groups.get(groupId);
    if (group) return group.members;
    const members = new Map<number, LoggedStep>();
    groups.set(groupId, { concurrent, at, members });
    return members;
  };
  for (const step of steps) {
    const loggedStep = presentRecordedStep(step, attempts.takeAttempts(step.stepId, step.messageId), run, invokedRuns, options);
    getOrCreateMembers(step.group, step.concurrent, step.createdAt).set(step.stepId, loggedStep);
  }
  const isActive = run.status === 'active';
  const nextSteps: LoggedStep[] = [];
  for (const task of tasks.filter((candidate): candidate is StepTask => isStepTask(candidate))) {
    const loggedStep = presentUnrecordedTask(task, history, invokedRuns, attempts.takeAttempts(task.slot, task.messageId));
    if (task.concurrent === 1 && isActive) nextSteps.push(loggedStep);
    else getOrCreateMembers(task.group, task.concurrent, task.createdAt).set(task.slot, loggedStep);
  }
  const timedGroups: TimedGroup[] = [...groups].map(([, { concurrent, at, members }]) => ({
    at,
    group: {
      type: concurrent > 1 ? 'parallel' : 'sequential',
      steps: [...members].sort(([a], [b]) => a - b).map(([, step]) => step),
    },
  }));
  const advanceTask = tasks.find(({ kind }) => kind === 'advance');
  if (advanceTask) {
    const failedAttempts = attempts.takeAttempts(ADVANCE_SLOT, advanceTask.messageId);
    const loggedStep = presentUnrecordedTask(advanceTask, history, invokedRuns, failedAttempts);
    // While steps are pending, a pending call to the workflow is only shown if it fails.
    const isShown = failedAttempts.length > 0 || tasks.length === 1;
    if (isActive && isShown) nextSteps.push(loggedStep);
    else if (!isActive && (run.status === 'failed' ? loggedStep.state === 'STEP_FAILED' : isShown))
      timedGroups.push({ at: Number.POSITIVE_INFINITY, group: { type: 'sequential', steps: [loggedStep] } });
  }
  for (const unassignedAttempts of attempts.remainingGroups()) {
    const at = unassignedAttempts[0]?.at ?? run.createdAt;
    timedGroups.push({ at, group: { type: 'sequential', steps: [presentUnassignedAttempts(unassignedAttempts, at)] } });
  }
  // Groups with the same start time keep the order of their steps.
  timedGroups.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  const initialStep: LoggedStep = {
    stepName: 'init',
    stepType: 'Initial',
    callType: 'step',
    messageId: `msg_${run.key}`,
    concurrent: 1,
    state: 'STEP_SUCCESS',
    createdAt: run.createdAt,
  };
  return {
    ...presentRun(run),
    ...optional('waiting', options.waits.get(run.key)),
    ...optional(
      'workflowRunResponse',
      !options.trimBody && typeof run.result === 'string' ? redactJson(run.result, redact) : null,
    ),
    ...optional('workflowRunResponseLeftOut', options.trimBody ? null : omittedResultBytes(run) || null),
    ...optional('workflowRunError', run.error),
    ...presentHistory(history),
    steps: [
      { type: 'sequential', steps: [initialStep] },
      ...timedGroups.map(({ group }) => group),
      ...(nextSteps.length > 0 ? [{ type: 'next' as const, steps: nextSteps }] : []),
    ],
    ...(history.shortened ? { shortened: true as const } : {}),
  };
}
