/** Derives the events of a plain message from its stored data: its creation, its attempts and its end. */
import { ADVANCE_SLOT, type FailedAttempt, type MessageSettings } from '../../engine/runs/run.js';
import type { RunHistory, RunRecord } from '../../ports/stores/store.js';
import type { MessageEvent, MessageRecord } from '../services/workflow-service.js';

export function isMessageRun(run: RunRecord): run is MessageRecord['run'] {
  const message: MessageSettings | undefined = run.settings.message;
  return message !== undefined;
}

const END_STATES = { succeeded: 'DELIVERED', failed: 'FAILED', canceled: 'CANCELED' } as const;

/** Returns the events of a failed attempt: its error, and its retry if there is one. */
function eventsOfAttempt(run: MessageRecord['run'], attempt: FailedAttempt): readonly MessageEvent[] {
  const { at, message: error, status, retryAt } = attempt;
  const failedEvent: MessageEvent = { run, at, state: 'ERROR', error, ...(status === null ? {} : { responseStatus: status }) };
  return retryAt === null ? [failedEvent] : [failedEvent, { run, at, state: 'RETRY', nextDeliveryAt: retryAt }];
}

/** Returns the events, oldest first. The time of an attempt is its due time. If `current.inFlight`, a request is in flight. */
export function eventsOf(
  run: MessageRecord['run'],
  { tasks, attempts }: Pick<RunHistory, 'tasks' | 'attempts'>,
  current: { readonly inFlight: boolean; readonly now: number },
): readonly MessageEvent[] {
  const { createdAt, completedAt, status, settings, error } = run;
  const { notBefore } = settings.message;
  const createdEvent: MessageEvent = {
    run,
    at: createdAt,
    state: 'CREATED',
    ...(notBefore === undefined ? {} : { nextDeliveryAt: notBefore }),
  };
  const events: MessageEvent[] = [createdEvent];
  let dueAt: number | null = notBefore ?? createdAt;
  const endedAt = completedAt ?? current.now;
  for (const attempt of attempts.filter(({ slot }) => slot === ADVANCE_SLOT)) {
    if (dueAt !== null) events.push({ run, at: dueAt, state: 'ACTIVE' });
    events.push(...eventsOfAttempt(run, attempt));
    dueAt = attempt.retryAt;
  }
  if (dueAt !== null && dueAt <= endedAt) {
    events.push({ run, at: dueAt, state: 'ACTIVE' });
    const task = tasks.find(({ slot }) => slot === ADVANCE_SLOT);
    if (current.inFlight && task) events.push({ run, at: dueAt, state: 'IN_PROGRESS' });
  }
  if (status !== 'active' && completedAt !== null) {
    events.push({ run, at: completedAt, state: END_STATES[status], ...(error === null ? {} : { error }) });
  }
  return events;
}
