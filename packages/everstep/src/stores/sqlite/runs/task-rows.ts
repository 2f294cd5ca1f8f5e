/** Rows of tasks as the engine knows them. */
import { STEP_TYPES } from '@everstep/sdk/protocol';
import type { Task } from '../../../engine/runs/run.js';
import { integer, integerOrNull, json, type Row, text, textOrNull, word } from '../connection/columns.js';

type TaskOf<Kind extends Task['kind']> = Extract<Task, { readonly kind: Kind }>;

const TASK_KINDS = [
  'advance',
  'message',
  'step',
  'sleep',
  'wait',
  'call',
  'notify',
  'invoke',
  'callback',
] as const satisfies Task['kind'][];

/** What stands in `detail`: the rest of a kind, for which there is no column. */
export interface TaskDetail {
  readonly wait: Pick<TaskOf<'wait'>, 'eventIds'>;
  readonly call: Omit<TaskOf<'call'>['call'], 'url'>;
  readonly notify: Pick<TaskOf<'notify'>, 'eventId' | 'workflowRunId' | 'content'>;
  readonly invoke: Pick<TaskOf<'invoke'>, 'childWorkflowRunId' | 'childCreatedAt' | 'invoke'>;
  readonly callback: Pick<TaskOf<'callback'>, 'dlqId'>;
}

/** All but `detail`. */
export const TASK_COLUMNS =
  'slot, kind, message_id, due_at, created_at, retried, name, first_of_group, concurrent, step_type, sleep_ms, wake_at, child_run_key, call_url';

export const taskKindOf = (row: Row): Task['kind'] => word(row, 'kind', TASK_KINDS);

export function taskOf(row: Row): Task {
  const base = {
    slot: integer(row, 'slot'),
    messageId: text(row, 'message_id'),
    dueAt: integerOrNull(row, 'due_at'),
    createdAt: integer(row, 'created_at'),
  };
  const kind = taskKindOf(row);
  if (kind === 'advance' || kind === 'message') return { ...base, kind, retried: integer(row, 'retried') };
  if (kind === 'callback') {
    return { ...base, kind, retried: integer(row, 'retried'), ...json<TaskDetail['callback']>(row, 'detail') };
  }
  const step = {
    ...base,
    name: text(row, 'name'),
    group: integer(row, 'first_of_group'),
    concurrent: integer(row, 'concurrent'),
  };
  switch (kind) {
    case 'step':
      return {
        ...step,
        kind,
        retried: integer(row, 'retried'),
        ...(textOrNull(row, 'step_type') === null ? {} : { stepType: word(row, 'step_type', STEP_TYPES) }),
      };
    case 'sleep':
      return {
        ...step,
        kind,
        stepType: word(row, 'step_type', ['SleepFor', 'SleepUntil']),
        sleepMs: integerOrNull(row, 'sleep_ms'),
        wakeAt: integer(row, 'wake_at'),
      };
    case 'wait':
      return {
        ...step,
        kind,
        stepType: word(row, 'step_type', ['Wait', 'WaitForWebhook']),
        deadlineAt: integer(row, 'wake_at'),
        ...json<TaskDetail['wait']>(row, 'detail'),
      };
    case 'call':
      return {
        ...step,
        kind,
        retried: integer(row, 'retried'),
        call: { url: text(row, 'call_url'), ...json<TaskDetail['call']>(row, 'detail') },
      };
    case 'notify':
      return { ...step, kind, ...json<TaskDetail['notify']>(row, 'detail') };
    case 'invoke':
      return { ...step, kind, childRunKey: text(row, 'child_run_key'), ...json<TaskDetail['invoke']>(row, 'detail') };
  }
}
