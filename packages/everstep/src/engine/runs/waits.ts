/** Events: how they end waits, and how early events are stored. */
import type { EventContent, TraceContext, WaitOutcome } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { contentBytes } from './content-size.js';
import type { Draft } from './decision.js';
import type { KeptEvent, Task } from './run.js';

type WaitTask = Extract<Task, { kind: 'wait' }>;

function recordWait(draft: Draft, task: WaitTask, outcome: WaitOutcome, notifiedBy?: TraceContext): void {
  const result = { stepId: task.slot, name: task.name, type: task.stepType, out: JSON.stringify(outcome) };
  draft.recordStep(result, task, { notifiedBy });
}

/** Ends the wait with the event as its result. */
export function notifyWait(draft: Draft, task: WaitTask, eventId: string, event: EventContent): void {
  const { trace, ...content } = event;
  recordWait(draft, task, { timeout: false, eventId, content }, trace);
}

/** Ends the wait with a timeout as its result. */
export function timeOutWait(draft: Draft, task: WaitTask): void {
  recordWait(draft, task, { timeout: true });
}

/** Ends a new wait with the first event that arrived before it, if there is one. */
export function takeKeptEvent(draft: Draft, task: WaitTask): void {
  const keptEvent = draft.state.keptEvents.find(({ eventId }) => task.eventIds.includes(eventId));
  if (!keptEvent) return;
  draft.dropEvent(keptEvent);
  notifyWait(draft, task, keptEvent.eventId, keptEvent.content);
}

/** Returns whether the run stores more events than allowed. */
export function exceedsEventLimits(events: readonly KeptEvent[]): boolean {
  const bytes = events.reduce((sum, { content }) => sum + contentBytes(content), 0);
  return events.length > LIMITS.maxKeptEvents || bytes > LIMITS.maxKeptEventBytes;
}

/** Handles an event for this run only. All waits for it receive it; if there are none, it is stored. */
export function receiveEvent(draft: Draft, event: KeptEvent): void {
  let isDelivered = false;
  for (const task of [...draft.openTasks.values()]) {
    if (task.kind !== 'wait' || task.dueAt === null || !task.eventIds.includes(event.eventId)) continue;
    notifyWait(draft, task, event.eventId, event.content);
    isDelivered = true;
  }
  if (isDelivered) draft.scheduleAdvance(LIMITS.advanceCoalesceMs);
  else draft.keepEvent(event);
}
