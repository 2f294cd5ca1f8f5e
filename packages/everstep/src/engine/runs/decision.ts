/**
 * A decision under construction: the new state of the run, and the writes that produce it. Each method changes both,
 * so that no rule of the engine can change one and forget the other.
 * Keeps invariants 7 and 8.
 */
import { type StepResult, type TraceContext, truncateText } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { failureEvent } from '../alerts/alert-events.js';
import { lifecycleNotices } from '../alerts/lifecycle.js';
import { groupOf } from '../dead-letters/fingerprint.js';
import { type DecisionContext, newId, nextVersion } from '../ids.js';
import type { CountedStep, InsightCounts } from '../insights/counts.js';
import { countedWorkflow, countMessages, incrementDailyCount, isMessage } from '../limits/metering.js';
import type { DayCountKind, StoreWrite } from '../writes.js';
import type { StoredRequest } from './exchanges.js';
import {
  ADVANCE_SLOT,
  CALLBACK_SLOT,
  type DeadLetter,
  type DeliveryFailure,
  type FailedAttempt,
  type FlowControl,
  type KeptEvent,
  type RecordedStep,
  type Run,
  type RunOutcome,
  type RunPayload,
  type Task,
} from './run.js';
import type { StepRules } from './settings.js';
import { TaskTable } from './task-table.js';

/** The result of an event. Without `writes`, the event had no effect. */
export interface Decision {
  readonly run: Run;
  readonly writes: readonly StoreWrite[];
  /** Outcome of the run; null unless this decision ended it. */
  readonly outcome: RunOutcome | null;
  readonly deadLetter: DeadLetter | null;
  /** Runs that the decision creates in the same unit; absent if there are none. */
  readonly newRuns?: readonly NewRun[];
}

/** A new run with its payload. */
export interface NewRun {
  readonly run: Run;
  readonly payload: RunPayload;
}

/** Returns the decision of an event without effect. */
export const unchangedDecision = (run: Run): Decision => ({ run, writes: [], outcome: null, deadLetter: null });

/** Returns the task that reports a failed run. */
export function callbackTask(dlqId: string, context: DecisionContext, delayMs = 0): Extract<Task, { kind: 'callback' }> {
  return {
    kind: 'callback',
    slot: CALLBACK_SLOT,
    messageId: newId('msg', context),
    dueAt: context.now + delayMs,
    createdAt: context.now,
    retried: 0,
    dlqId,
  };
}

/** Returns the next free position once `stepId` is taken, and the positions that are already recorded beyond it. */
function positionsAfter(stepId: number, { nextStepId: before, ahead }: Run): Pick<Run, 'nextStepId' | 'ahead'> {
  let nextStepId = Math.max(before, stepId + 1);
  if (!ahead) return { nextStepId };
  while (ahead.includes(nextStepId)) nextStepId++;
  const remaining = ahead.filter((position) => position > nextStepId);
  return remaining.length > 0 ? { nextStepId, ahead: remaining } : { nextStepId, ahead: undefined };
}

/** Returns whether the duration of a step of this type is counted. Sleeps and waits do no work, so theirs is not. */
const isTimed = (type: StepResult['type']): boolean =>
  type !== 'SleepFor' && type !== 'SleepUntil' && type !== 'Wait' && type !== 'WaitForWebhook';

/** Times when a step ran, Unix ms. */
export interface ResultTimes {
  /** Start of the successful attempt. */
  readonly startedAt?: number | undefined;
  /** End of the step, if it was recorded later together with others. */
  readonly completedAt?: number | undefined;
}

/** How a result was produced, as far as it is known and stored. */
interface ResultDetails extends ResultTimes {
  readonly sent?: StoredRequest | undefined;
  readonly notifiedBy?: TraceContext | undefined;
}

/** A decision under construction. Call `finish` to get the decision. */
export class Draft {
  readonly context: DecisionContext;
  private run: Run;
  private readonly tasks: TaskTable;
  private readonly writes: StoreWrite[] = [];
  private outcome: RunOutcome | null = null;
  private deadLetter: DeadLetter | null = null;
  private newMessages = 0;
  private lastClosedMessageId: string | null = null;
  private newRuns: NewRun[] | null = null;
  private countedSteps: CountedStep[] | null = null;
  private countedEnd: InsightCounts['ended'];

  constructor(run: Run, context: DecisionContext) {
    this.run = run;
    this.context = context;
    this.tasks = TaskTable.from(run.tasks);
  }

  get now(): number {
    return this.context.now;
  }
  /** The run as it is now in this decision, except for its tasks. */
  get state(): Run {
    return this.run;
  }
  get settings(): Run['settings'] {
    return this.run.settings;
  }
  get nextStepId(): number {
    return this.run.nextStepId;
  }
  get journalLength(): number {
    return this.run.journalLength;
  }
  get journalBytes(): number {
    return this.run.journalBytes;
  }
  get hasEnded(): boolean {
    return this.outcome !== null;
  }
  get openTasks(): ReadonlyMap<number, Task> {
    return this.tasks;
  }

  task(slot: number): Task | undefined {
    return this.tasks.get(slot);
  }

  newMessageId(): string {
    return newId('msg', this.context);
  }

  /** Counts a message that has no task, because its step is already done. Returns its id. */
  countMessage(): string {
    this.newMessages++;
    return this.newMessageId();
  }

  /** Adds the task or replaces the one in its slot, and counts its message if it is new. */
  putTask(task: Task): void {
    const { messageId } = task;
    // A message that moves to another slot keeps its id, so it is not new.
    const isKnown = this.tasks.get(task.slot)?.messageId === messageId || this.lastClosedMessageId === messageId;
    if (!isKnown && isMessage(task)) this.newMessages++;
    this.tasks.put(task);
    if (task.slot >= this.run.nextStepId) this.run = { ...this.run, ...positionsAfter(task.slot, this.run) };
    this.writes.push({ kind: 'put-task', runKey: this.run.key, task });
  }

  /** Deletes the task in the slot, if there is one. */
  deleteTask(slot: number): void {
    const task = this.tasks.get(slot);
    if (!task) return;
    this.lastClosedMessageId = task.messageId;
    this.tasks.delete(slot);
    this.writes.push({ kind: 'delete-task', runKey: this.run.key, slot });
  }

  /** Records that the code has run until quiet on the first `length` entries of the journal. */
  markQuietAt(length: number): void {
    if (length > this.run.replayedLength) this.run = { ...this.run, replayedLength: length };
  }

  /** Appends a step to the journal and closes its task. `message` is that of a step that was not planned. */
  recordStep(
    result: StepResult,
    message: Pick<Task, 'messageId' | 'createdAt'>,
    { startedAt, completedAt, sent, notifiedBy }: ResultDetails = {},
  ): void {
    const openTask = this.tasks.get(result.stepId);
    const plannedTask = openTask && 'name' in openTask ? openTask : null;
    const createdAt = plannedTask?.createdAt ?? message.createdAt;
    // The clocks of other nodes and of endpoints may differ, so times are clamped to the period since the step was created.
    const clampTime = (time: number): number => Math.min(this.now, Math.max(createdAt, time));
    const endedAt = completedAt === undefined ? this.now : clampTime(completedAt);
    if (isTimed(result.type)) {
      const startTime = startedAt === undefined ? createdAt : clampTime(startedAt);
      this.countStep({ name: result.name, outcome: 'finished', durationMs: Math.max(0, endedAt - startTime) });
    }
    this.deleteTask(result.stepId);
    this.appendStep(result, {
      messageId: plannedTask?.messageId ?? message.messageId,
      group: plannedTask?.group ?? result.stepId,
      concurrent: plannedTask?.concurrent ?? 1,
      createdAt,
      ...(startedAt === undefined ? {} : { startedAt: clampTime(startedAt) }),
      completedAt: endedAt,
      sleepMs: plannedTask?.kind === 'sleep' ? plannedTask.sleepMs : null,
      wakeAt: plannedTask?.kind === 'sleep' ? plannedTask.wakeAt : null,
      ...(sent ? { sent } : {}),
      ...(notifiedBy ? { notifiedBy } : {}),
    });
  }

  private appendStep(result: StepResult, details: Omit<RecordedStep, 'index' | 'stepId' | 'name' | 'type' | 'out'>): void {
    this.writes.push({
      kind: 'record-step',
      runKey: this.run.key,
      step: {
        index: this.run.journalLength,
        stepId: result.stepId,
        name: result.name,
        type: result.type,
        out: result.out ?? null,
        ...details,
      },
    });
    this.run = {
      ...this.run,
      ...positionsAfter(result.stepId, this.run),
      journalLength: this.run.journalLength + 1,
      journalBytes: this.run.journalBytes + (result.out?.length ?? 0),
    };
  }

  /** Applies the flow control limits that a step specifies. */
  applyFlowControl(flowControl: FlowControl): void {
    this.writes.push({ kind: 'put-flow-control', instanceId: this.run.instanceId, flowControl, at: this.now });
  }

  /** Records a step that was just planned and needs no further work. */
  recordPlanned(result: StepResult, { group, concurrent }: { readonly group: number; readonly concurrent: number }): void {
    const messageId = this.newMessageId();
    this.appendStep(result, {
      messageId,
      group,
      concurrent,
      createdAt: this.now,
      completedAt: this.now,
      sleepMs: null,
      wakeAt: null,
    });
  }

  /** Stores an event that the run does not wait for yet. */
  keepEvent(event: KeptEvent): void {
    this.writes.push({ kind: 'keep-event', runKey: this.run.key, event });
    this.run = { ...this.run, keptEvents: [...this.run.keptEvents, event] };
  }

  /** Removes a stored event. */
  dropEvent({ eventKey }: KeptEvent): void {
    this.writes.push({ kind: 'drop-event', runKey: this.run.key, eventKey });
    this.run = { ...this.run, keptEvents: this.run.keptEvents.filter((event) => event.eventKey !== eventKey) };
  }

  /** Records that the endpoint has a failure function. */
  recordFailureFunction(): void {
    if (this.run.hasFailureFunction) return;
    this.writes.push({ kind: 'note-failure-function', runKey: this.run.key });
    this.run = { ...this.run, hasFailureFunction: true };
  }

  /** Records that the endpoint introduced itself, so that it can be called for the first step. */
  recordIntroduction(steps: StepRules): void {
    const settings = { ...this.run.settings, steps: { ...steps, introduced: true } };
    this.writes.push({ kind: 'note-introduction', runKey: this.run.key, settings });
    this.run = { ...this.run, settings };
  }

  /** Creates another run in the same unit. Its id must be newly generated, because no guard checks it. */
  createRun(newRun: NewRun, writes: readonly StoreWrite[]): void {
    this.newRuns ??= [];
    this.newRuns.push(newRun);
    this.writes.push(...writes);
  }

  /** Counts a request of the run that was rejected, for the owner of the instance. */
  countRejection(counter: DayCountKind): void {
    this.writes.push(incrementDailyCount(this.run.instanceId, counter, this.context));
  }

  /** Adds a failed attempt to the log of the run. */
  recordAttempt(attempt: FailedAttempt): void {
    this.writes.push({ kind: 'record-attempt', runKey: this.run.key, attempt });
    this.countStep({ name: attempt.name, outcome: 'failed-attempt', durationMs: null });
  }

  private countStep(step: CountedStep): void {
    if (this.run.settings.message) return;
    this.countedSteps ??= [];
    this.countedSteps.push(step);
  }

  /** Ends the run. If it succeeded, open tasks are deleted. Otherwise they are parked, for the log and a resume. */
  end(outcome: RunOutcome): void {
    this.outcome = outcome;
    this.run = { ...this.run, status: outcome.status };
    if (this.tasks.size > 0) {
      this.writes.push({ kind: outcome.status === 'succeeded' ? 'delete-tasks' : 'park-tasks', runKey: this.run.key });
    }
    this.writes.push({ kind: 'end-run', runKey: this.run.key, outcome, completedAt: this.now });
    this.countedEnd = { status: outcome.status, durationMs: Math.max(0, this.now - this.run.createdAt) };
    if (this.run.origin?.kind === 'invoke') {
      this.writes.push({ kind: 'wake-invoker', childRunKey: this.run.key, at: this.now });
    }
    if (outcome.status === 'succeeded') this.tasks.clear();
    else for (const task of [...this.tasks.values()]) this.tasks.put({ ...task, dueAt: null });
    const { alerts } = this.context;
    if (alerts)
      for (const { writes, ...notice } of lifecycleNotices(this.run, outcome, alerts, this.context))
        this.createRun(notice, writes);
  }

  /**
   * Ends the run as failed. The same unit adds it to the dead letter queue, and adds the callback message if there is
   * a failure callback or failure function. `stepName` is the step that failed; null for the code between steps, and
   * for a message.
   */
  fail(error: string, failure: DeliveryFailure, stepName: string | null): void {
    this.end({ status: 'failed', error });
    const hasCallback = this.run.settings.failureCallback !== null || this.run.hasFailureFunction;
    this.deadLetter = {
      dlqId: newId('dlq', this.context),
      runKey: this.run.key,
      instanceId: this.run.instanceId,
      createdAt: this.now,
      failureFunctionState: hasCallback ? 'CALLBACK_INPROGRESS' : null,
      responseStatus: failure.status,
      responseHeaders: failure.responseHeaders,
      responseBody: failure.responseBody,
      error,
      failedBy: {
        stepName,
        message: truncateText(failure.message, LIMITS.maxKeptErrorLength),
        ...(failure.thrown ? { thrown: failure.thrown } : {}),
      },
    };
    const group = groupOf({
      kind: this.run.settings.message ? 'message' : 'workflow',
      workflowUrl: this.run.workflowUrl,
      stepName,
      status: failure.status,
      cause: failure.cause,
      message: failure.message,
      source: failure.thrown?.source,
    });
    this.writes.push({ kind: 'add-dead-letter', entry: this.deadLetter, group });
    const event = failureEvent(this.run, this.deadLetter, group, this.context);
    if (event) this.writes.push({ kind: 'add-alert-event', instanceId: this.run.instanceId, event });
    if (!hasCallback) return;
    this.putTask(callbackTask(this.deadLetter.dlqId, this.context, this.run.settings.failureCallback?.delayMs));
  }

  /**
   * Adds an advance to an active run whose journal is longer than its code has seen (invariant of Run.replayedLength). While other
   * steps are in flight, the advance may wait for `advanceCoalesceMs`. A wide fan-out then does not call the endpoint once per
   * finished step.
   */
  scheduleAdvance(advanceCoalesceMs: number): void {
    if (this.outcome !== null) return;
    const openAdvance = this.tasks.get(ADVANCE_SLOT);
    if (this.run.journalLength <= this.run.replayedLength) return;
    let hasStepsInFlight = false;
    const joinsSteps = this.run.settings.steps?.joined === true;
    for (const task of this.tasks.values()) {
      // Code that joins the steps it planned together cannot continue before the last of them is recorded.
      if (joinsSteps && task.slot > ADVANCE_SLOT) return;
      if (task.kind === 'step' && task.dueAt !== null && task.dueAt <= this.now) {
        hasStepsInFlight = true;
        break;
      }
    }
    const dueAt = hasStepsInFlight ? this.now + advanceCoalesceMs : this.now;
    if (openAdvance?.kind === 'advance' && openAdvance.dueAt !== null && (openAdvance.dueAt <= dueAt || openAdvance.retried > 0))
      return;
    this.putTask({
      kind: 'advance',
      slot: ADVANCE_SLOT,
      messageId: openAdvance?.messageId ?? this.newMessageId(),
      dueAt,
      createdAt: openAdvance?.createdAt ?? this.now,
      retried: 0,
    });
  }

  private countInsights(): void {
    const { countedEnd: ended, countedSteps: steps, run } = this;
    if (!ended && !steps) return;
    this.writes.push({
      kind: 'count-insights',
      instanceId: run.instanceId,
      workflow: countedWorkflow(run),
      at: this.now,
      ...(ended ? { ended } : {}),
      ...(steps ? { steps } : {}),
    });
  }

  /** Returns the decision. The run moves to its next version. */
  finish(): Decision {
    this.writes.push(...countMessages(this.run.instanceId, this.newMessages, this.context));
    this.newMessages = 0;
    this.countInsights();
    return {
      run: { ...this.run, tasks: this.tasks, version: nextVersion(this.run.version, this.context) },
      writes: this.writes,
      outcome: this.outcome,
      deadLetter: this.deadLetter,
      ...(this.newRuns ? { newRuns: this.newRuns } : {}),
    };
  }
}
