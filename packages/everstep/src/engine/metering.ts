/**
 * What an instance is billed for: messages, that is deliveries that the
 * service owes somebody. One is counted when it is decided on, in the unit
 * that makes it, whatever becomes of it; its retries are part of it. And what
 * plans bound by the day: runs that are started.
 */
import type { DecisionContext } from './ids.js';
import type { Run, Task } from './run.js';
import type { CountOfDay, DayCountKind, StoreWrite } from './writes.js';

/** A sleep or a wait calls nobody, and a notification or an invocation stays inside the service: what they lead to is counted. */
export function isMessage({ kind }: Task): boolean {
  return kind === 'advance' || kind === 'step' || kind === 'call' || kind === 'message' || kind === 'callback';
}

/** Empty when there is nothing to count. */
export function countMessages(instanceId: string, messages: number, { now: at }: DecisionContext): readonly StoreWrite[] {
  return messages === 0 ? [] : [{ kind: 'count-messages', instanceId, messages, at }];
}

/**
 * All messages that a new run owes; and the run itself (an invoked run and a published message too), unless it is a callback:
 * for the day on which it was let in (Unix ms), null when it was not asked.
 */
export function countStart(
  run: Pick<Run, 'instanceId' | 'tasks' | 'settings'>,
  letInAt: number | null,
  context: DecisionContext,
): readonly StoreWrite[] {
  let messages = 0;
  for (const task of run.tasks.values()) if (isMessage(task)) messages++;
  const { instanceId, settings } = run;
  const counted = countMessages(instanceId, messages, context);
  return settings.message?.callbackOf !== undefined
    ? counted
    : [...counted, countOfDay(instanceId, 'run', { now: letInAt ?? context.now })];
}

export function countOfDay(instanceId: string, what: DayCountKind, { now: at }: Pick<DecisionContext, 'now'>): CountOfDay {
  return { kind: 'count-of-day', instanceId, what, count: 1, at };
}
