/**
 * The engine: what an event means for a run. Synchronous and total; time and
 * randomness come in, writes go out, nothing is performed here. Blind to how
 * a step travels: an attempt is answered by a reply or a failure.
 */
import type { EventContent, InvokeOutcome, NotifyOutcome, StepReply } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import { type CallAnswer, takeCallAnswer } from './calls.js';
import { type Decision, Draft, unchanged } from './decision.js';
import { failAttempt } from './failure.js';
import type { DecisionContext } from './ids.js';
import { keepJournalLimits } from './journal-limits.js';
import { takeMessageAnswer } from './messages.js';
import { applyReply, type ReplyEnvelope } from './reply.js';
import type { AttemptedTask, DeliveryFailure, KeptEvent, Run, Task } from './run.js';
import { endExchange, type Submitted, takeSubmission } from './submissions.js';
import { keepsTooMuch, notifyWait, receiveEvent, timeOutWait } from './waits.js';

/** Which attempt an answer belongs to. An answer to any other than the present one has no effect. */
export interface AttemptReference {
  readonly slot: number;
  readonly messageId: string;
  readonly retried: number;
}

export type RunEvent =
  | { readonly kind: 'replied'; readonly attempt: AttemptReference; readonly reply: StepReply; readonly envelope: ReplyEnvelope }
  /** The endpoint submitted steps in a request of their own. */
  | ({ readonly kind: 'submitted' } & Submitted)
  /** It answered a delivery, and its answer says nothing: what there was to say it submitted. */
  | { readonly kind: 'exchange-ended'; readonly attempt: AttemptReference; readonly envelope: ReplyEnvelope }
  | { readonly kind: 'attempt-failed'; readonly attempt: AttemptReference; readonly failure: DeliveryFailure }
  /** What came of a call's attempt; see takeCallAnswer. */
  | {
      readonly kind: 'call-answered';
      readonly attempt: AttemptReference;
      readonly answer: CallAnswer | null;
      readonly failure: DeliveryFailure | null;
    }
  /** What came of an attempt of a plain message; see takeMessageAnswer. */
  | {
      readonly kind: 'message-answered';
      readonly attempt: AttemptReference;
      readonly failure: DeliveryFailure | null;
      readonly notice: Uint8Array | null;
    }
  /** A task that calls nobody (a sleep, a wait) may be due. */
  | { readonly kind: 'due'; readonly slot: number }
  /** Somebody notified the event that the wait in this slot waits for. */
  | { readonly kind: 'notified'; readonly slot: number; readonly eventId: string; readonly content: EventContent }
  /** An event for this run alone. Without effect when it has as many kept as it may. */
  | { readonly kind: 'event-received'; readonly event: KeptEvent }
  /** A notify step was carried out. */
  | { readonly kind: 'notify-done'; readonly slot: number; readonly messageId: string; readonly outcome: NotifyOutcome }
  /** The run that a step invokes is made. */
  | { readonly kind: 'invoke-started'; readonly slot: number; readonly messageId: string; readonly createdAt: number }
  /** The run that a step invokes has ended, or could not be made. */
  | { readonly kind: 'invoke-ended'; readonly slot: number; readonly messageId: string; readonly outcome: InvokeOutcome }
  | { readonly kind: 'cancel' };

type Attempted = Extract<Task, { kind: 'advance' | 'step' }>;

const isOpen = (task: Task, messageId: string): boolean => task.messageId === messageId;

export function decide(run: Run, event: RunEvent, context: DecisionContext): Decision {
  if (run.status !== 'active') return unchanged(run);
  if (event.kind === 'submitted') return takeSubmission(run, event, context);
  if (event.kind === 'replied' || event.kind === 'attempt-failed' || event.kind === 'exchange-ended')
    return decideAttempt(run, event, context);
  const draft = new Draft(run, context);
  switch (event.kind) {
    case 'call-answered': {
      const task = run.tasks.get(event.attempt.slot);
      if (task?.kind !== 'call' || !isPresent(task, event.attempt)) return unchanged(run);
      takeCallAnswer(draft, task, event.answer, event.failure);
      break;
    }
    case 'message-answered': {
      const task = run.tasks.get(event.attempt.slot);
      if (task?.kind !== 'message' || !isPresent(task, event.attempt)) return unchanged(run);
      takeMessageAnswer(draft, task, event.failure, event.notice);
      break;
    }
    case 'due': {
      const task = run.tasks.get(event.slot);
      if (!task || task.dueAt === null || task.dueAt > context.now) return unchanged(run);
      if (task.kind === 'sleep') draft.recordStep({ stepId: task.slot, name: task.name, type: task.stepType }, task);
      else if (task.kind === 'wait') timeOutWait(draft, task);
      else return unchanged(run);
      draft.owe(LIMITS.advanceCoalesceMs);
      break;
    }
    case 'notified': {
      const task = run.tasks.get(event.slot);
      // One that timed out or was notified is no task any more: exactly one of the two was first.
      if (task?.kind !== 'wait' || !task.eventIds.includes(event.eventId)) return unchanged(run);
      notifyWait(draft, task, event.eventId, event.content);
      draft.owe(LIMITS.advanceCoalesceMs);
      break;
    }
    case 'event-received':
      receiveEvent(draft, event.event);
      if (keepsTooMuch(draft.state.keptEvents)) return unchanged(run);
      break;
    case 'notify-done': {
      const task = run.tasks.get(event.slot);
      if (task?.kind !== 'notify' || !isOpen(task, event.messageId)) return unchanged(run);
      const out = JSON.stringify(event.outcome);
      draft.recordStep({ stepId: task.slot, name: task.name, type: 'Notify', out }, task);
      draft.owe(LIMITS.advanceCoalesceMs);
      break;
    }
    case 'invoke-started': {
      const task = run.tasks.get(event.slot);
      if (task?.kind !== 'invoke' || !isOpen(task, event.messageId)) return unchanged(run);
      draft.putTask({ ...task, dueAt: null, childCreatedAt: event.createdAt, invoke: null });
      break;
    }
    case 'invoke-ended': {
      const task = run.tasks.get(event.slot);
      if (task?.kind !== 'invoke' || !isOpen(task, event.messageId)) return unchanged(run);
      const out = JSON.stringify(event.outcome);
      draft.recordStep({ stepId: task.slot, name: task.name, type: 'Invoke', out }, task);
      draft.owe(LIMITS.advanceCoalesceMs);
      break;
    }
    case 'cancel':
      draft.end({ status: 'canceled' });
      break;
  }
  if (draft.journalLength > run.journalLength) keepJournalLimits(draft);
  return draft.finish();
}

const isPresent = (task: AttemptedTask, attempt: AttemptReference): boolean =>
  task.messageId === attempt.messageId && task.retried === attempt.retried;

function decideAttempt(
  run: Run,
  event: Extract<RunEvent, { kind: 'replied' | 'attempt-failed' | 'exchange-ended' }>,
  context: DecisionContext,
): Decision {
  const task = run.tasks.get(event.attempt.slot);
  if ((task?.kind !== 'advance' && task?.kind !== 'step') || !isPresent(task, event.attempt)) return unchanged(run);
  const attempted: Attempted = task;
  if (event.kind === 'replied') return applyReply(() => new Draft(run, context), attempted, event.reply, event.envelope).finish();
  if (event.kind === 'exchange-ended') return endExchange(run, attempted, event.envelope, context);
  const draft = new Draft(run, context);
  failAttempt(draft, attempted, event.failure);
  return draft.finish();
}
