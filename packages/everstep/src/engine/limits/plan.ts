/**
 * The steps that an endpoint plans. Each new step becomes a task. A result that is already available (an event that
 * arrived earlier, the URL of a webhook) is recorded immediately, in the same decision.
 * Keeps invariant 18.
 */
import type { EncodedBody, PlannedStep, RunEnd, StepResult, WebhookOutcome } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { newId, newKey } from '../ids.js';
import type { Draft } from '../runs/decision.js';
import type { Run, Task } from '../runs/run.js';
import { takeKeptEvent } from '../runs/waits.js';
import { parseRetryDelay } from '../schedules/retry-delay.js';
import type { DayCountKind } from '../writes.js';
import { journalProblem } from './journal-limits.js';
import { bytesOf } from './message-size.js';

/** The error of a reply that violates the step protocol. */
export class ProtocolViolation extends Error {}
/** The error of a valid reply that requests or returns something that the server does not allow. */
export class PlanRefusedError extends Error {
  /** Counter of rejected requests, for the owner of the instance. */
  readonly counter: DayCountKind | null;
  constructor(message: string, counter: DayCountKind | null = null) {
    super(message);
    this.counter = counter;
  }
}

/** Throws ProtocolViolation if the journal exceeds its limits. */
export function checkJournal(draft: Draft): void {
  const problem = journalProblem(draft);
  if (problem !== null) throw new ProtocolViolation(problem);
}

/** Returns the number of nested invocations that lead to this run. */
const depthOf = (run: Run): number => (run.origin?.kind === 'invoke' ? run.origin.depth : 0);

function checkRetryDelay(stepName: string, source: string | undefined): void {
  const retryDelay = source === undefined ? null : parseRetryDelay(source);
  if (retryDelay?.ok === false)
    throw new PlanRefusedError(`step "${stepName}" has an invalid retry delay: ${retryDelay.message}`);
}

/** Returns the body that the step sends, if any. */
function bodyOf(step: PlannedStep): EncodedBody | undefined {
  switch (step.type) {
    case 'Call':
      return step.call.body;
    case 'Invoke':
      return step.invoke.body;
    case 'Notify':
      return step.content.body;
    default:
      return undefined;
  }
}

/** Maximum number of bytes that one UTF-16 code unit takes in UTF-8. */
const MAX_UTF8_BYTES_PER_UNIT = 3;

/** Returns whether a result is within the limit. Its bytes are counted only if its length is not enough to decide. */
export function fitsMessageLimit(result: string, { messageLimit }: Draft['context']): boolean {
  if (!messageLimit || result.length * MAX_UTF8_BYTES_PER_UNIT <= messageLimit.maxBytes) return true;
  return result.length <= messageLimit.maxBytes && bytesOf({ encoding: 'utf8', data: result }) <= messageLimit.maxBytes;
}

/** Throws PlanRefusedError if a result exceeds the message limit. Call it before any result of the reply is recorded. */
export function checkResults({ context }: Draft, results: readonly StepResult[], end: RunEnd | undefined): void {
  const refuse = (subject: string, result: string): never => {
    const { plan: name, maxBytes } = context.messageLimit ?? { plan: '', maxBytes: 0 };
    const bytes = bytesOf({ encoding: 'utf8', data: result });
    throw new PlanRefusedError(
      `${subject} returned ${bytes} bytes, but the plan ${name} allows at most ${maxBytes} (body-too-large); store the data ` +
        'elsewhere and return a reference, or resume the run after changing the plan',
      'step-body-too-large',
    );
  };
  for (const { name, stepId, out } of results)
    if (out !== undefined && !fitsMessageLimit(out, context)) refuse(`step "${name}" (${stepId})`, out);
  if (end?.kind === 'finished' && end.result !== undefined && !fitsMessageLimit(end.result, context))
    refuse('the workflow', end.result);
}

/** Throws PlanRefusedError if the body that the step sends exceeds the message limit. */
function checkSize(step: PlannedStep, { context }: Draft): void {
  const messageLimit = context.messageLimit ?? null;
  const body = bodyOf(step);
  if (messageLimit === null || body === undefined) return;
  const bytes = bytesOf(body);
  if (bytes <= messageLimit.maxBytes) return;
  throw new PlanRefusedError(
    `step "${step.name}" (${step.stepId}) sends a message of ${bytes} bytes, but the plan ${messageLimit.plan} allows at most ` +
      `${messageLimit.maxBytes} (body-too-large); send less, or resume the run after changing the plan`,
    'step-body-too-large',
  );
}

function createTask(step: PlannedStep, group: number, concurrent: number, draft: Draft): Task | null {
  const { now } = draft;
  const commonProperties = {
    slot: step.stepId,
    name: step.name,
    group,
    concurrent,
    messageId: draft.newMessageId(),
    createdAt: now,
  };
  switch (step.type) {
    case 'Run':
      return { ...commonProperties, kind: 'step', dueAt: now, retried: 0, ...(step.asks ? { stepType: step.asks } : {}) };
    case 'SleepFor':
    case 'SleepUntil': {
      const sleepMs = step.type === 'SleepFor' ? step.sleepMs : null;
      const wakeAt = Math.max(now, step.type === 'SleepFor' ? now + step.sleepMs : step.wakeAt);
      return { ...commonProperties, kind: 'sleep', stepType: step.type, sleepMs, wakeAt, dueAt: wakeAt };
    }
    case 'Wait':
    case 'WaitForWebhook': {
      const deadlineAt = now + step.timeoutMs;
      return { ...commonProperties, kind: 'wait', stepType: step.type, eventIds: step.eventIds, deadlineAt, dueAt: deadlineAt };
    }
    case 'Notify': {
      const { eventId, content, workflowRunId = null } = step;
      return { ...commonProperties, kind: 'notify', dueAt: now, eventId, workflowRunId, content };
    }
    case 'Call':
      checkRetryDelay(step.name, step.call.retryDelay);
      if (step.call.flowControl) draft.applyFlowControl(step.call.flowControl);
      return { ...commonProperties, kind: 'call', dueAt: now, retried: 0, call: step.call };
    case 'Invoke': {
      checkRetryDelay(step.name, step.invoke.retryDelay);
      if (depthOf(draft.state) >= LIMITS.maxInvokeDepth) {
        throw new PlanRefusedError(
          `step "${step.name}" invokes a workflow ${LIMITS.maxInvokeDepth + 1} invocations deep; the limit is ` +
            `${LIMITS.maxInvokeDepth}. Check whether a workflow invokes itself endlessly`,
        );
      }
      const childRunKey = newKey(draft.context);
      return {
        ...commonProperties,
        kind: 'invoke',
        dueAt: now,
        childRunKey,
        childWorkflowRunId: step.invoke.workflowRunId ?? `wfr_${childRunKey}`,
        childCreatedAt: now,
        invoke: step.invoke,
      };
    }
    case 'CreateWebhook':
      return null;
  }
}

/** Records a webhook immediately: its result is its URL. */
function createWebhook(step: PlannedStep, group: number, concurrent: number, draft: Draft): void {
  // The id contains the key of the run, so that a request needs no search. Its random part makes it unguessable.
  const eventId = `${newId('whk', draft.context)}.${draft.state.key}`;
  const outcome: WebhookOutcome = { eventId, webhookUrl: `${draft.context.publicUrl}/v2/webhooks/${eventId}` };
  const { stepId, name, type } = step;
  draft.recordPlanned({ stepId, name, type, out: JSON.stringify(outcome) }, { group, concurrent });
}

/** Replaces the task of a step that was planned by name only, when the endpoint specifies what the step needs. */
function completeStep(step: PlannedStep, plannedTask: Extract<Task, { kind: 'step' }>, draft: Draft): void {
  const { group, concurrent } = plannedTask;
  checkSize(step, draft);
  draft.deleteTask(plannedTask.slot);
  const task = createTask(step, group, concurrent, draft);
  if (task === null) {
    createWebhook(step, group, concurrent, draft);
    return;
  }
  draft.putTask(task);
  if (task.kind === 'wait') takeKeptEvent(draft, task);
}

/** Throws PlanRefusedError if more runs would be invoked than one run may wait for. */
function checkInvocations(draft: Draft, planned: readonly PlannedStep[]): void {
  let openInvocations = planned.reduce((sum, { type }) => sum + (type === 'Invoke' ? 1 : 0), 0);
  if (openInvocations === 0) return;
  for (const { kind } of draft.state.tasks.values()) if (kind === 'invoke') openInvocations++;
  if (openInvocations <= LIMITS.maxOpenInvocations) return;
  throw new PlanRefusedError(
    `it waits for ${openInvocations} invoked runs at once, but the limit is ${LIMITS.maxOpenInvocations}; invoke them in smaller groups`,
  );
}

/** Adds the new steps of the plan. Throws ProtocolViolation or PlanRefusedError. */
export function plan(draft: Draft, planned: readonly PlannedStep[]): void {
  const newSteps = planned.filter((step) => step.stepId >= draft.nextStepId);
  if (newSteps.length > LIMITS.maxPlannedAtOnce)
    throw new ProtocolViolation(`it plans more than ${LIMITS.maxPlannedAtOnce} steps at once`);
  checkInvocations(draft, newSteps);
  const group = draft.nextStepId;
  for (const step of planned) {
    if (step.stepId < group) {
      const openTask = draft.task(step.stepId);
      if (openTask && 'name' in openTask && openTask.name !== step.name) {
        throw new ProtocolViolation(
          `it plans step ${step.stepId} as "${step.name}", but planned it before as "${openTask.name}"`,
        );
      }
      if (openTask?.kind === 'step' && openTask.stepType !== undefined && openTask.stepType === step.type)
        completeStep(step, openTask, draft);
      continue;
    }
    if (step.stepId !== draft.nextStepId)
      throw new ProtocolViolation(`it plans step ${step.stepId}, but the next new step is ${draft.nextStepId}`);
    checkSize(step, draft);
    const task = createTask(step, group, newSteps.length, draft);
    if (task === null) createWebhook(step, group, newSteps.length, draft);
    else {
      draft.putTask(task);
      if (task.kind === 'wait') takeKeptEvent(draft, task);
    }
  }
  // Some of the steps may have been recorded immediately.
  checkJournal(draft);
}
