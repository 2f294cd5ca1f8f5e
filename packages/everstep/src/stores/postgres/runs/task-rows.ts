/** Rows of tasks as the engine knows them, and back. */
import { STEP_TYPES } from '@everstep/sdk/protocol';
import type { Task } from '../../../engine/runs/run.js';
import type { RunPlace } from '../commit/known-run.js';
import { integer, integerOrNull, json, type Row, text, textOrNull, word } from '../connection/columns.js';
import type { Columns, RowOf } from '../connection/row-sets.js';

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

export const TASK = {
  instance_id: 'text',
  run_key: 'text',
  slot: 'integer',
  due_at: 'bigint',
  created_at: 'bigint',
  retried: 'integer',
  first_of_group: 'integer',
  concurrent: 'integer',
  sleep_ms: 'bigint',
  wake_at: 'bigint',
  kind: 'text',
  message_id: 'text',
  name: 'text',
  step_type: 'text',
  flow_key: 'text',
  queue: 'text',
  child_run_key: 'text',
  call_url: 'text',
  detail: 'text',
  claimed_by: 'text',
  wanted_by: 'text',
} as const satisfies Columns;

/** What stands in `detail`: the rest of a kind, for which there is no column. */
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

/** What of a task is not its own. */
export interface TaskSurroundings {
  /** That of its run, if it is a message in one. */
  readonly queue: string | null;
  /** The node that acts on it, when it is due at once. */
  readonly claimedBy: string | null;
}

export function taskRowOf(
  { instanceId, runKey }: RunPlace,
  task: Task,
  { queue, claimedBy }: TaskSurroundings,
): RowOf<typeof TASK> {
  const step = 'group' in task ? task : null;
  const detail = detailOf(task);
  return {
    instance_id: instanceId,
    run_key: runKey,
    slot: task.slot,
    due_at: task.dueAt,
    created_at: task.createdAt,
    retried: 'retried' in task ? task.retried : null,
    first_of_group: step?.group ?? null,
    concurrent: step?.concurrent ?? null,
    sleep_ms: task.kind === 'sleep' ? task.sleepMs : null,
    wake_at: wakeAtOf(task),
    kind: task.kind,
    message_id: task.messageId,
    name: step?.name ?? null,
    step_type: step && 'stepType' in step ? (step.stepType ?? null) : null,
    flow_key: task.kind === 'call' ? (task.call.flowControl?.key ?? null) : null,
    queue: task.kind === 'message' ? queue : null,
    child_run_key: task.kind === 'invoke' ? task.childRunKey : null,
    call_url: task.kind === 'call' ? task.call.url : null,
    detail: detail && JSON.stringify(detail),
    claimed_by: claimedBy,
    wanted_by: null,
  };
}

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
