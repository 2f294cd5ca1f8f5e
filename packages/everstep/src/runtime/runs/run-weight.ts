/** Estimates the bytes of a run's state in memory: the data of its endpoint, its events and its owner. */
import type { EncodedBody } from '@everstep/sdk/protocol';
import { contentBytes, headerBytes } from '../../engine/runs/content-size.js';
import type { KeptEvent, Run, Task } from '../../engine/runs/run.js';
import type { CommitUnit } from '../../engine/writes.js';

/** Bytes of a run, a task or an event without its data. */
const OBJECT_BYTES = 500;

const bodyBytes = (body: EncodedBody | undefined): number => body?.data.length ?? 0;

function taskBytes(task: Task | undefined): number {
  switch (task?.kind) {
    case undefined:
      return 0;
    case 'call':
      return OBJECT_BYTES + bodyBytes(task.call.body) + headerBytes(task.call.headers);
    case 'notify':
      return OBJECT_BYTES + contentBytes(task.content);
    case 'invoke':
      return OBJECT_BYTES + bodyBytes(task.invoke?.body) + headerBytes(task.invoke?.headers ?? {});
    default:
      return OBJECT_BYTES;
  }
}

const eventBytes = (events: readonly KeptEvent[]): number =>
  events.reduce((sum, { content }) => sum + OBJECT_BYTES + contentBytes(content), 0);

/** Returns the weight without the payload, which is kept only for a moment. */
export const weightOf = ({ tasks, keptEvents }: Run): number =>
  OBJECT_BYTES + eventBytes(keptEvents) + [...tasks.values()].reduce((sum, task) => sum + taskBytes(task), 0);

/** Returns the weight after a decision, in time proportional to its writes and not to the tasks of the run. */
export function weightAfter(weight: number, before: Run, after: Run, writes: CommitUnit['writes']): number {
  const slots = new Set<number>();
  for (const write of writes) {
    if (write.kind === 'put-task') slots.add(write.task.slot);
    else if (write.kind === 'delete-task') slots.add(write.slot);
    else if (write.kind === 'delete-tasks') return weightOf(after);
  }
  let newWeight = weight;
  for (const slot of slots) newWeight += taskBytes(after.tasks.get(slot)) - taskBytes(before.tasks.get(slot));
  if (after.keptEvents !== before.keptEvents) newWeight += eventBytes(after.keptEvents) - eventBytes(before.keptEvents);
  return newWeight;
}
