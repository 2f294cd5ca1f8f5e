/** What a unit is known by before it is written: its queue instance, and about how much it makes the store write. */
import type { CommitUnit, StoreGuard, StoreWrite } from '../../engine/writes.js';

/** Of a row without what it carries. */
const ROW_BYTES = 200;
/** Of a journal that is copied in the store, whose size is unknown here. */
const COPY_BYTES = 256 * 1024;

function instanceOfWrite(write: StoreWrite): string | null {
  switch (write.kind) {
    case 'create-run':
      return write.run.instanceId;
    case 'add-dead-letter':
      return write.entry.instanceId;
    case 'put-schedule':
      return write.schedule.instanceId;
    default:
      return 'instanceId' in write ? write.instanceId : null;
  }
}

const instanceOfGuard = (guard: StoreGuard): string | null => ('instanceId' in guard ? guard.instanceId : null);

/** A unit is of one instance. Null where none of its guards and writes says which. */
export function instanceOf({ guards, writes }: CommitUnit): string | null {
  for (const guard of guards) {
    const instanceId = instanceOfGuard(guard);
    if (instanceId !== null) return instanceId;
  }
  for (const write of writes) {
    const instanceId = instanceOfWrite(write);
    if (instanceId !== null) return instanceId;
  }
  return null;
}

function bytesOfWrite(write: StoreWrite): number {
  switch (write.kind) {
    case 'create-run':
      return 'copyOf' in write.input ? COPY_BYTES : write.input.body.length;
    case 'copy-journal':
      return COPY_BYTES;
    case 'record-step':
      return write.step.out?.length ?? 0;
    case 'put-task':
      return write.task.kind === 'call' ? (write.task.call.body?.data.length ?? 0) : 0;
    case 'keep-event':
      return write.event.content.body?.data.length ?? 0;
    case 'add-dead-letter':
      return write.entry.responseBody.length;
    case 'end-run':
      return write.outcome.status === 'succeeded' ? (write.outcome.result?.length ?? 0) : 0;
    case 'put-schedule':
      return write.schedule.payload.body.length;
    default:
      return 0;
  }
}

/** About how many bytes it makes the store write. */
export const bytesOf = ({ writes }: CommitUnit): number =>
  writes.reduce((sum, write) => sum + ROW_BYTES + bytesOfWrite(write), 0);
