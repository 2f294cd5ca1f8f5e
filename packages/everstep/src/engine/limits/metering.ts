/**
 * Counts billed messages, that is, deliveries. A message is counted in the unit that creates it, whatever its outcome. Its
 * retries are not counted again. If one delivery executes several steps, each is a message. This module also counts started
 * runs, which plans limit per day. Keeps invariant 17.
 */
import type { DecisionContext } from '../ids.js';
import type { Run, Task } from '../runs/run.js';
import type { DailyCount, DayCountKind, StoreWrite } from '../writes.js';

/**
 * Returns whether a task is a message. A sleep or a wait sends no request, and a notification or an invocation stays
 * inside the server; the messages that they cause are counted separately.
 */
export function isMessage({ kind }: Task): boolean {
  return kind === 'advance' || kind === 'step' || kind === 'call' || kind === 'message' || kind === 'callback';
}

/** Returns the write that counts messages, or an empty list if there are none. */
export function countMessages(instanceId: string, messages: number, { now: at }: DecisionContext): readonly StoreWrite[] {
  return messages === 0 ? [] : [{ kind: 'count-messages', instanceId, messages, at }];
}

/**
 * Returns the writes that count a new run and its messages. Invoked runs and published messages count as runs; callbacks and
 * notices do not. The run counts for the day of its admission (`admittedAt`, Unix ms), or for the current day if `admittedAt`
 * is null.
 */
export function countStart(
  run: Pick<Run, 'instanceId' | 'tasks' | 'settings' | 'workflowUrl'>,
  admittedAt: number | null,
  context: DecisionContext,
): readonly StoreWrite[] {
  let messages = 0;
  for (const task of run.tasks.values()) if (isMessage(task)) messages++;
  const { instanceId, settings } = run;
  const writes: readonly StoreWrite[] = [...countMessages(instanceId, messages, context), countStartForInsights(run, context)];
  const { callbackOf, destination } = settings.message ?? {};
  return callbackOf !== undefined || destination !== undefined
    ? writes
    : [...writes, incrementDailyCount(instanceId, 'run', { now: admittedAt ?? context.now })];
}

/** Returns the write that counts the start for the insights. */
const countStartForInsights = (
  run: Pick<Run, 'instanceId' | 'settings' | 'workflowUrl'>,
  { now: at }: DecisionContext,
): StoreWrite => ({
  kind: 'count-insights',
  instanceId: run.instanceId,
  workflow: countedWorkflow(run),
  at,
  started: true,
});

/** Returns the workflow under which a run is counted; null for a plain message. */
export const countedWorkflow = ({ settings, workflowUrl }: Pick<Run, 'settings' | 'workflowUrl'>): string | null =>
  settings.message ? null : workflowUrl;

/** Returns the write that increments a counter of the day. */
export function incrementDailyCount(
  instanceId: string,
  counter: DayCountKind,
  { now: at }: Pick<DecisionContext, 'now'>,
): DailyCount {
  return { kind: 'count-of-day', instanceId, what: counter, count: 1, at };
}
