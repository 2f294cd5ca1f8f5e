/**
 * The engine: what an event means for a run. Synchronous and total; time and
 * randomness come in, writes go out, nothing is performed here. Blind to how
 * a step travels: an attempt is answered by a reply or a failure.
 */
import type { StepReply } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import { type Decision, Draft, unchanged } from './decision.js';
import { failAttempt } from './failure.js';
import type { DecisionContext } from './ids.js';
import { applyReply, type ReplyEnvelope } from './reply.js';
import type { DeliveryFailure, Run } from './run.js';

/** Which attempt an answer belongs to. An answer to any other than the present one has no effect. */
export interface AttemptReference {
  readonly slot: number;
  readonly messageId: string;
  readonly retried: number;
}

export type RunEvent =
  | { readonly kind: 'replied'; readonly attempt: AttemptReference; readonly reply: StepReply; readonly envelope: ReplyEnvelope }
  | { readonly kind: 'attempt-failed'; readonly attempt: AttemptReference; readonly failure: DeliveryFailure }
  /** A task that calls nobody (a sleep) may be due. */
  | { readonly kind: 'due'; readonly slot: number }
  | { readonly kind: 'cancel' };

export function decide(run: Run, event: RunEvent, context: DecisionContext): Decision {
  if (run.status !== 'active') return unchanged(run);
  switch (event.kind) {
    case 'replied':
    case 'attempt-failed': {
      const { slot, messageId, retried } = event.attempt;
      const task = run.tasks.get(slot);
      if (!task || task.kind === 'sleep' || task.messageId !== messageId || task.retried !== retried) return unchanged(run);
      if (event.kind === 'replied') return applyReply(() => new Draft(run, context), task, event.reply, event.envelope).finish();
      const draft = new Draft(run, context);
      failAttempt(draft, task, event.failure);
      return draft.finish();
    }
    case 'due': {
      const task = run.tasks.get(event.slot);
      if (task?.kind !== 'sleep' || task.dueAt === null || task.dueAt > context.now) return unchanged(run);
      const draft = new Draft(run, context);
      draft.recordStep({ stepId: task.slot, name: task.name, type: task.stepType }, task);
      draft.owe(LIMITS.advanceCoalesceMs);
      return draft.finish();
    }
    case 'cancel': {
      const draft = new Draft(run, context);
      draft.end({ status: 'canceled' });
      return draft.finish();
    }
  }
}
