/** Presents the fields of individual step types: from the task of a pending step, or from the result of a recorded step. */
import { parseJson } from '@everstep/sdk/protocol';
import type { LoggedStep } from '../../contract/runs.js';
import type { RecordedStep, Redaction, StepTask, Task } from '../../engine/runs/run.js';
import type { InvokedRun } from '../../ports/stores/store.js';
import { optional } from './optional.js';
import { redactUrl } from './redaction.js';

type Fields = Pick<
  LoggedStep,
  | 'sleepFor'
  | 'sleepUntil'
  | 'waitEventId'
  | 'waitEventIds'
  | 'waitDeadline'
  | 'waitTimeout'
  | 'notifyEventId'
  | 'callUrl'
  | 'callMethod'
  | 'callResponseStatus'
  | 'invokedWorkflowRunId'
  | 'invokedWorkflowCreatedAt'
  | 'invokedWorkflowUrl'
>;

export const isStepTask = (task: Task): task is StepTask => 'name' in task;

export function fieldsOfTask(task: Task, redact: Redaction | undefined): Fields {
  switch (task.kind) {
    case 'sleep':
      return { ...optional('sleepFor', task.sleepMs), sleepUntil: task.wakeAt };
    case 'wait':
      return {
        ...optional('waitEventId', task.eventIds[0]),
        ...(task.eventIds.length > 1 ? { waitEventIds: [...task.eventIds] } : {}),
        waitDeadline: task.deadlineAt,
      };
    case 'notify':
      return { notifyEventId: task.eventId };
    case 'call':
      return { callUrl: redactUrl(task.call.url, redact), callMethod: task.call.method };
    case 'invoke':
      return task.invoke === null
        ? { invokedWorkflowRunId: task.childWorkflowRunId, invokedWorkflowCreatedAt: task.childCreatedAt }
        : { invokedWorkflowUrl: redactUrl(task.invoke.workflowUrl, redact) };
    case 'advance':
    case 'message':
    case 'step':
    case 'callback':
      return {};
  }
}

/** Returns the fields of a recorded result, which are none if it is not a JSON object. */
function parseOut({ out }: RecordedStep): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJson(out ?? 'null');
    return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
  } catch {
    return {};
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const integerOrNull = (value: unknown): number | null => (Number.isSafeInteger(value) ? Number(value) : null);

/** Invoked runs by the id of the step that invoked them. */
export type InvokedByStep = ReadonlyMap<number, InvokedRun>;
export const invokedByStep = (invokedRuns: readonly InvokedRun[]): InvokedByStep =>
  new Map(invokedRuns.map((run) => [run.stepId, run]));

export function fieldsOfRecorded(step: RecordedStep, invokedRuns: InvokedByStep): Fields {
  switch (step.type) {
    case 'Wait':
    case 'WaitForWebhook': {
      const { timeout, eventId } = parseOut(step);
      return { ...optional('waitEventId', textOrNull(eventId)), waitTimeout: timeout === true };
    }
    case 'Call':
      return optional('callResponseStatus', integerOrNull(parseOut(step).status));
    case 'Invoke': {
      const invokedRun = invokedRuns.get(step.stepId);
      const { workflowRunId, workflowCreatedAt } = invokedRun
        ? { workflowRunId: invokedRun.workflowRunId, workflowCreatedAt: invokedRun.createdAt }
        : parseOut(step);
      return {
        ...optional('invokedWorkflowRunId', textOrNull(workflowRunId)),
        ...optional('invokedWorkflowCreatedAt', integerOrNull(workflowCreatedAt)),
      };
    }
    default:
      return { ...optional('sleepFor', step.sleepMs), ...optional('sleepUntil', step.wakeAt) };
  }
}
