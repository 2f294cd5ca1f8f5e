/** Converts rows of tasks to the engine's tasks, and tasks to their columns. */
import { STEP_TYPES } from '@everstep/sdk/protocol';
import type { Task } from '../../engine/runs/run.js';
import { integer, integerOrNull, json, type Row, text, textOrNull, word } from './columns.js';

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

/** Content of the column `detail`, by kind: the fields that have no separate column. */
interface TaskDetail {
  readonly wait: Pick<TaskOf<'wait'>, 'eventIds'>;
  readonly call: Omit<TaskOf<'call'>['call'], 'url'>;
  readonly notify: Pick<TaskOf<'notify'>, 'eventId' | 'workflowRunId' | 'content'>;
  readonly invoke: Pick<TaskOf<'invoke'>, 'childWorkflowRunId' | 'childCreatedAt' | 'invoke'>;
  readonly callback: Pick<TaskOf<'callback'>, 'dlqId'>;
}

function detailOf(task: Task): TaskDetail[keyof TaskDetail] | null {
  switch (task.kind) {
    case 'wait':
      return { eventIds: task.eventIds };
    case 'call': {
      const { url, ...detail } = task.call;
      return detail;
    }
    case 'notify':
      return { eventId: task.eventId, workflowRunId: task.workflowRunId, content: task.content };
    case 'invoke':
      return { childWorkflowRunId: task.childWorkflowRunId, childCreatedAt: task.childCreatedAt, invoke: task.invoke };
    case 'callback':
      return { dlqId: task.dlqId };
    default:
      return null;
  }
}

function wakeAtOf(task: Task): number | null {
  if (task.kind === 'sleep') return task.wakeAt;
  return task.kind === 'wait' ? task.deadlineAt : null;
}

type TaskColumns = ReturnType<typeof taskColumnsOf>;

/** Columns that tasks without `detail` can use. */
export const TASK_COLUMNS = [
  ...(['slot', 'kind', 'message_id', 'due_at', 'created_at', 'retried', 'name', 'first_of_group', 'concurrent'] as const),
  ...(['step_type', 'sleep_ms', 'wake_at'] as const),
] satisfies (keyof TaskColumns)[];

/** Columns that only tasks with `detail` can use, in addition to `detail`. */
export const SPECIAL_TASK_COLUMNS = ['flow_key', 'child_run_key', 'call_url'] as const satisfies (keyof TaskColumns)[];

/** Returns the columns of a task, except those that depend on its run or on the node that claims it. */
export function taskColumnsOf(task: Task) {
  const step = 'group' in task ? task : null;
  const detail = detailOf(task);
  return {
    slot: task.slot,
    kind: task.kind,
    message_id: task.messageId,
    due_at: task.dueAt,
    created_at: task.createdAt,
    retried: 'retried' in task ? task.retried : null,
    name: step?.name ?? null,
    first_of_group: step?.group ?? null,
    concurrent: step?.concurrent ?? null,
    step_type: step && 'stepType' in step ? (step.stepType ?? null) : null,
    sleep_ms: task.kind === 'sleep' ? task.sleepMs : null,
    wake_at: wakeAtOf(task),
    flow_key: task.kind === 'call' ? (task.call.flowControl?.key ?? null) : null,
    child_run_key: task.kind === 'invoke' ? task.childRunKey : null,
    call_url: task.kind === 'call' ? task.call.url : null,
    detail: detail && JSON.stringify(detail),
  };
}

export const taskKindOf = (row: Row): Task['kind'] => word(row, 'kind', TASK_KINDS);

export function taskOf(row: Row): Task {
  const commonFields = {
    slot: integer(row, 'slot'),
    messageId: text(row, 'message_id'),
    dueAt: integerOrNull(row, 'due_at'),
    createdAt: integer(row, 'created_at'),
  };
  const kind = taskKindOf(row);
  if (kind === 'advance' || kind === 'message') return { ...commonFields, kind, retried: integer(row, 'retried') };
  if (kind === 'callback') {
    return { ...commonFields, kind, retried: integer(row, 'retried'), ...json<TaskDetail['callback']>(row, 'detail') };
  }
  const step = {
    ...commonFields,
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
