/**
 * The engine decides what an event means for a run. It is synchronous and total. Time and randomness are inputs, writes are
 * outputs, and there are no side effects. The engine does not depend on how steps are transported: the outcome of an attempt
 * is a reply or a failure. Keeps invariants 4 and 11.
 */
import type { EventContent, InvokeOutcome, NotifyOutcome, StepReply } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { DecisionContext } from '../ids.js';
import { enforceJournalLimits } from '../limits/journal-limits.js';
import { applyCallResponse, type CallResponse } from '../messages/calls.js';
import { applyMessageResponse } from '../messages/messages.js';
import { type Decision, Draft, unchangedDecision } from './decision.js';
import { failAttempt } from './failure.js';
import { applyReply, type ReplyEnvelope } from './reply.js';
import type { AttemptedTask, DeliveryFailure, KeptEvent, Run, Task } from './run.js';
import { applySubmission, endExchange, type PendingSubmission } from './submissions.js';
import { exceedsEventLimits, notifyWait, receiveEvent, timeOutWait } from './waits.js';

/** Identifies an attempt. A response to any attempt except the current one has no effect. */
export interface AttemptReference {
  readonly slot: number;
  readonly messageId: string;
  readonly retried: number;
}

/** Something that happened to a run. */
export type RunEvent =
  | { readonly kind: 'replied'; readonly attempt: AttemptReference; readonly reply: StepReply; readonly envelope: ReplyEnvelope }
  /** The endpoint submitted steps in a separate request. */
  | ({ readonly kind: 'submitted' } & PendingSubmission)
  /** The endpoint returned an empty response to a delivery, because it submits its results in separate requests. */
  | { readonly kind: 'exchange-ended'; readonly attempt: AttemptReference; readonly envelope: ReplyEnvelope }
  | { readonly kind: 'attempt-failed'; readonly attempt: AttemptReference; readonly failure: DeliveryFailure }
  /** The outcome of an attempt of a call; see applyCallResponse. */
  | {
      readonly kind: 'call-attempted';
      readonly attempt: AttemptReference;
      readonly response: CallResponse | null;
      readonly failure: DeliveryFailure | null;
    }
  /** The outcome of an attempt of a plain message; see applyMessageResponse. */
  | {
      readonly kind: 'message-attempted';
      readonly attempt: AttemptReference;
      readonly failure: DeliveryFailure | null;
      readonly notice: Uint8Array | null;
    }
  /** A task without a request (a sleep, a wait) may be due. */
  | { readonly kind: 'due'; readonly slot: number }
  /** An event that the wait in this slot waits for was published. */
  | { readonly kind: 'notified'; readonly slot: number; readonly eventId: string; readonly content: EventContent }
  /** An event for this run only. It has no effect if the run already stores the maximum number of events. */
  | { readonly kind: 'event-received'; readonly event: KeptEvent }
  /** A notify step was executed. */
  | { readonly kind: 'notify-done'; readonly slot: number; readonly messageId: string; readonly outcome: NotifyOutcome }
  /** The run that a step invokes was created. */
  | { readonly kind: 'invoke-started'; readonly slot: number; readonly messageId: string; readonly createdAt: number }
  /** The run that a step invokes has ended, or could not be created. */
  | { readonly kind: 'invoke-ended'; readonly slot: number; readonly messageId: string; readonly outcome: InvokeOutcome }
  | { readonly kind: 'cancel' };

type CodeTask = Extract<Task, { kind: 'advance' | 'step' }>;

const isCurrentMessage = (task: Task, messageId: string): boolean => task.messageId === messageId;

/** Returns the decision on an event: the new state of the run and its writes. */
export function decide(run: Run, event: RunEvent, context: DecisionContext): Decision {
  if (run.status !== 'active') return unchangedDecision(run);
  if (event.kind === 'submitted') return applySubmission(run, event, context);
  if (event.kind === 'replied' || event.kind === 'attempt-failed' || event.kind === 'exchange-ended')
    return decideAttempt(run, event, context);
  const draft = new Draft(run, context);
  switch (event.kind) {
    case 'call-attempted': {
      const task = run.tasks.get(event.attempt.slot);
      if (task?.kind !== 'call' || !isCurrentAttempt(task, event.attempt)) return unchangedDecision(run);
      applyCallResponse(draft, task, event.response, event.failure);
      break;
    }
    case 'message-attempted': {
      const task = run.tasks.get(event.attempt.slot);
      if (task?.kind !== 'message' || !isCurrentAttempt(task, event.attempt)) return unchangedDecision(run);
      applyMessageResponse(draft, task, event.failure, event.notice);
      break;
    }
    case 'due': {
      const task = run.tasks.get(event.slot);
      if (!task || task.dueAt === null || task.dueAt > context.now) return unchangedDecision(run);
      if (task.kind === 'sleep') draft.recordStep({ stepId: task.slot, name: task.name, type: task.stepType }, task);
      else if (task.kind === 'wait') timeOutWait(draft, task);
      else return unchangedDecision(run);
      draft.scheduleAdvance(LIMITS.advanceCoalesceMs);
      break;
    }
    case 'notified': {
      const task = run.tasks.get(event.slot);
      // A wait that timed out or was notified has no task anymore, so exactly one of the two applies.
      if (task?.kind !== 'wait' || !task.eventIds.includes(event.eventId)) return unchangedDecision(run);
      notifyWait(draft, task, event.eventId, event.content);
      draft.scheduleAdvance(LIMITS.advanceCoalesceMs);
      break;
    }
    case 'event-received':
      receiveEvent(draft, event.event);
      // A version with other limits may have stored more. The event that the run waits for is not stored.
      if (draft.state.keptEvents.length > run.keptEvents.length && exceedsEventLimits(draft.state.keptEvents))
        return unchangedDecision(run);
      break;
    case 'notify-done': {
      const task = run.tasks.get(event.slot);
      if (task?.kind !== 'notify' || !isCurrentMessage(task, event.messageId)) return unchangedDecision(run);
      const out = JSON.stringify(event.outcome);
      draft.recordStep({ stepId: task.slot, name: task.name, type: 'Notify', out }, task);
      draft.scheduleAdvance(LIMITS.advanceCoalesceMs);
      break;
    }
    case 'invoke-started': {
      const task = run.tasks.get(event.slot);
      if (task?.kind !== 'invoke' || !isCurrentMessage(task, event.messageId)) return unchangedDecision(run);
      draft.putTask({ ...task, dueAt: null, childCreatedAt: event.createdAt, invoke: null });
      break;
    }
    case 'invoke-ended': {
      const task = run.tasks.get(event.slot);
      if (task?.kind !== 'invoke' || !isCurrentMessage(task, event.messageId)) return unchangedDecision(run);
      const out = JSON.stringify(event.outcome);
      draft.recordStep({ stepId: task.slot, name: task.name, type: 'Invoke', out }, task);
      draft.scheduleAdvance(LIMITS.advanceCoalesceMs);
      break;
    }
    case 'cancel':
      draft.end({ status: 'canceled' });
      break;
  }
  if (draft.journalLength > run.journalLength) enforceJournalLimits(draft);
  return draft.finish();
}

const isCurrentAttempt = (task: AttemptedTask, attempt: AttemptReference): boolean =>
  task.messageId === attempt.messageId && task.retried === attempt.retried;

function decideAttempt(
  run: Run,
  event: Extract<RunEvent, { kind: 'replied' | 'attempt-failed' | 'exchange-ended' }>,
  context: DecisionContext,
): Decision {
  const task = run.tasks.get(event.attempt.slot);
  if ((task?.kind !== 'advance' && task?.kind !== 'step') || !isCurrentAttempt(task, event.attempt))
    return unchangedDecision(run);
  const codeTask: CodeTask = task;
  if (event.kind === 'replied') return applyReply(() => new Draft(run, context), codeTask, event.reply, event.envelope).finish();
  if (event.kind === 'exchange-ended') return endExchange(run, codeTask, event.envelope, context);
  const draft = new Draft(run, context);
  failAttempt(draft, codeTask, event.failure);
  return draft.finish();
}
