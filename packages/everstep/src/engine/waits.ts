/** Events: how one ends a wait, and what becomes of one that comes early. */
import type { EventContent, WaitOutcome } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import type { Draft } from './decision.js';
import type { KeptEvent, Task } from './run.js';

type WaitTask = Extract<Task, { kind: 'wait' }>;

function recordWait(draft: Draft, task: WaitTask, outcome: WaitOutcome): void {
  draft.recordStep({ stepId: task.slot, name: task.name, type: task.stepType, out: JSON.stringify(outcome) }, task);
}

/** The event came: it is the result of the wait. */
export function notifyWait(draft: Draft, task: WaitTask, eventId: string, content: EventContent): void {
  recordWait(draft, task, { timeout: false, eventId, content });
}

/** The time is up: that is the result of the wait. */
export function timeOutWait(draft: Draft, task: WaitTask): void {
  recordWait(draft, task, { timeout: true });
}

/** A wait that just began takes the first event that came before it. */
export function takeKeptEvent(draft: Draft, task: WaitTask): void {
  const kept = draft.state.keptEvents.find(({ eventId }) => task.eventIds.includes(eventId));
  if (!kept) return;
  draft.dropEvent(kept);
  notifyWait(draft, task, kept.eventId, kept.content);
}

/** More than a run may keep. Bodies count as they are kept: as text, or as base64. */
export function keepsTooMuch(events: readonly KeptEvent[]): boolean {
  const bytes = events.reduce((sum, { content }) => sum + content.body.data.length, 0);
  return events.length > LIMITS.maxKeptEvents || bytes > LIMITS.maxKeptEventBytes;
}

/** An event for this run alone: every wait for it takes it; when there is none it is kept. */
export function receiveEvent(draft: Draft, event: KeptEvent): void {
  let taken = false;
  for (const task of [...draft.openTasks.values()]) {
    if (task.kind !== 'wait' || task.dueAt === null || !task.eventIds.includes(event.eventId)) continue;
    notifyWait(draft, task, event.eventId, event.content);
    taken = true;
  }
  if (taken) draft.owe(LIMITS.advanceCoalesceMs);
  else draft.keepEvent(event);
}
