/**
 * What a unit names: two units that have none of it in common may be written in any order, and at the same time. What is
 * only summed up (messages, counts of a day) belongs to nobody.
 */
import type { CommitUnit, StoreGuard, StoreWrite } from '../../engine/writes.js';

const run = (runKey: string): string => `run ${runKey}`;
const thing = (kind: string, instanceId: string, id: string): string => `${kind} ${instanceId}\n${id}`;

function* namesOfGuard(guard: StoreGuard): Generator<string> {
  switch (guard.kind) {
    case 'run-active':
    case 'task-open':
    case 'run-present':
      yield run(guard.runKey);
      break;
    case 'run-id-free':
      yield thing('id', guard.instanceId, guard.workflowRunId);
      break;
    case 'not-duplicate':
      yield thing('deduplication', guard.instanceId, guard.deduplicationId);
      break;
    case 'schedule-due':
      yield thing('schedule', guard.instanceId, guard.scheduleId);
      break;
    case 'queue-unchanged':
      yield thing('queue', guard.instanceId, guard.name);
      break;
    case 'url-group-unchanged':
      yield thing('group', guard.instanceId, guard.name);
      break;
    case 'schedule-unchanged':
      yield thing('schedule', guard.instanceId, guard.scheduleId);
      break;
    case 'schedules-below':
      yield thing('schedules', guard.instanceId, '');
      break;
    case 'dead-letters-present':
      for (const dlqId of guard.dlqIds) yield thing('dead letter', guard.instanceId, dlqId);
      break;
    // Read alone: many units of a repair may be written at once.
    case 'repair-at':
      break;
    default:
      guard satisfies never;
  }
}

function* namesOfWrite(write: StoreWrite): Generator<string> {
  switch (write.kind) {
    case 'count-messages':
    case 'count-of-day':
    case 'add-audit':
      break;
    case 'set-repair-item':
      yield thing('repair item', write.instanceId, `${write.repairId}\n${write.n}`);
      break;
    case 'create-run':
      yield run(write.run.key);
      if ('copyOf' in write.input) yield run(write.input.copyOf);
      break;
    case 'copy-journal':
    case 'stage-journal':
      yield run(write.fromRunKey);
      yield run(write.toRunKey);
      break;
    case 'wake-invoker':
      yield run(write.childRunKey);
      break;
    case 'put-task':
      yield run(write.runKey);
      if (write.task.kind === 'invoke') yield run(write.task.childRunKey);
      break;
    case 'adopt-journal':
    case 'abandon-journal':
    case 'record-step':
    case 'delete-task':
    case 'park-tasks':
    case 'delete-tasks':
    case 'keep-event':
    case 'drop-event':
    case 'note-failure-function':
    case 'record-attempt':
    case 'end-run':
      yield run(write.runKey);
      break;
    case 'add-dead-letter':
      yield run(write.entry.runKey);
      yield thing('dead letter', write.entry.instanceId, write.entry.dlqId);
      break;
    case 'set-failure-function-state':
    case 'take-dead-letter':
      yield thing('dead letter', write.instanceId, write.dlqId);
      break;
    case 'remember-deduplication':
      yield run(write.runKey);
      yield thing('deduplication', write.instanceId, write.deduplicationId);
      break;
    case 'put-flow-control':
      yield thing('key', write.instanceId, write.flowControl.key);
      break;
    case 'set-flow-control':
      yield thing('key', write.instanceId, write.state.key);
      break;
    case 'set-flow-window':
      yield thing('key', write.instanceId, write.key);
      break;
    case 'register-queue':
    case 'delete-queue':
      yield thing('queue', write.instanceId, write.name);
      break;
    case 'put-queue':
      yield thing('queue', write.instanceId, write.queue.name);
      break;
    case 'put-url-group':
      yield thing('group', write.instanceId, write.group.name);
      break;
    case 'delete-url-group':
      yield thing('group', write.instanceId, write.name);
      break;
    case 'put-schedule':
      yield thing('schedule', write.schedule.instanceId, write.schedule.scheduleId);
      break;
    case 'delete-schedule':
      yield thing('schedule', write.instanceId, write.scheduleId);
      break;
    case 'set-hold':
      yield thing('origin', write.instanceId, write.origin);
      break;
    case 'set-instance-settings':
      yield thing('settings', write.instanceId, '');
      break;
    default:
      write satisfies never;
  }
}

/** Each once. */
export function namesOf({ guards, writes }: CommitUnit): readonly string[] {
  const names = new Set<string>();
  for (const guard of guards) for (const name of namesOfGuard(guard)) names.add(name);
  for (const write of writes) for (const name of namesOfWrite(write)) names.add(name);
  return [...names];
}
