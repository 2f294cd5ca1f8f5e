/** The context of a workflow function: validates what the code requests, and requests it as steps. */
import type { WorkflowContext } from './context.js';
import { type Duration, durationMs, instantMs } from './duration.js';
import { openValue, type PayloadCipher, sealBody } from './encryption/envelope.js';
import { describeError, NonRetryableError } from './errors.js';
import type { Execution } from './executor/execution.js';
import { headersOf } from './payload.js';
import type { EventContent, RunInput, StepRequest } from './protocol.js';
import { eventIdOf, eventIdsOf, isStorable, runIdOf } from './steps/arguments.js';
import { encodeContent } from './steps/content.js';
import { callResultOf, invokeResultOf, notifyResultOf, waitResultOf, webhookOf, webhookResultOf } from './steps/outcomes.js';
import { callSpecOf, invokeSpecOf } from './steps/specs.js';
import type { WaitOptions, WaitResult } from './steps/step-types.js';

const MAX_STEP_NAME_LENGTH = 1024;
const DEFAULT_TIMEOUT: Duration = '7d';

function validStepName(name: string): string {
  if (typeof name === 'string' && name.length > 0 && name.length <= MAX_STEP_NAME_LENGTH) {
    if (isStorable(name)) return name;
    throw new NonRetryableError(
      `the name of a step must not contain U+0000 or an unpaired surrogate, but ${JSON.stringify(name)} does`,
    );
  }
  const actual = typeof name === 'string' ? `but it has ${name.length}` : `not ${JSON.stringify(name)?.slice(0, 80)}`;
  throw new NonRetryableError(`the name of a step must be a string of 1 to ${MAX_STEP_NAME_LENGTH} characters, ${actual}`);
}

/** Invalid arguments stay invalid, so a retry cannot help. */
function asNonRetryable<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new NonRetryableError(`step ${JSON.stringify(name)}: ${describeError(error).message}`);
  }
}

const timeoutMsOf = ({ timeout = DEFAULT_TIMEOUT }: WaitOptions = {}): number => durationMs(timeout);

/** Returns the content of an event. An event without data is empty. */
function eventContentOf(data: unknown): Extract<EventContent, { kind: 'data' }> {
  const content = encodeContent(data, 'the data of the event');
  return content ? { kind: 'data', ...content } : { kind: 'data', body: { encoding: 'utf8', data: '' } };
}

/** What the context needs in addition to the run and its input. */
export interface ContextParts<Payload> {
  readonly payload: Payload;
  readonly url: string;
  readonly encryption: PayloadCipher | undefined;
}

/** Creates the context of an execution. */
export function createContext<Payload>(
  execution: Execution,
  run: StepRequest['run'],
  input: RunInput,
  { payload, url, encryption }: ContextParts<Payload>,
): WorkflowContext<Payload> {
  const { id, createdAt, labels } = run;

  function wait<Data>(name: string, readEventIds: () => readonly string[], options?: WaitOptions): Promise<WaitResult<Data>> {
    const stepName = validStepName(name);
    const stepFields = asNonRetryable(name, () => ({ eventIds: readEventIds(), timeoutMs: timeoutMsOf(options) }));
    return execution.requestStep((stepId) => ({ stepId, name: stepName, type: 'Wait', ...stepFields }), {
      read: (recorded) => waitResultOf<Data>(recorded, encryption),
    });
  }

  return {
    payload,
    runId: id,
    runCreatedAt: createdAt,
    labels,
    headers: headersOf(input),
    url,
    run(name, action) {
      const stepName = validStepName(name);
      if (typeof action !== 'function')
        throw new NonRetryableError(
          `step ${JSON.stringify(name)} has no function to run: pass a function as the second argument of run()`,
        );
      return execution.requestStep((stepId) => ({ stepId, name: stepName, type: 'Run' }), {
        action,
        read: (recorded) => openValue(encryption, recorded, `the result of step ${JSON.stringify(stepName)}`),
      });
    },
    sleep(name, duration) {
      const stepName = validStepName(name);
      const sleepMs = asNonRetryable(name, () => durationMs(duration));
      return execution.requestStep((stepId) => ({ stepId, name: stepName, type: 'SleepFor', sleepMs }));
    },
    sleepUntil(name, instant) {
      const stepName = validStepName(name);
      const wakeAt = asNonRetryable(name, () => instantMs(instant));
      return execution.requestStep((stepId) => ({ stepId, name: stepName, type: 'SleepUntil', wakeAt }));
    },
    waitForEvent: (name, eventId, options) => wait(name, () => [eventIdOf(eventId)], options),
    waitForAny: (name, eventIds, options) => wait(name, () => eventIdsOf(eventIds), options),
    notify(name, eventId, data, options) {
      const stepName = validStepName(name);
      const stepFields = asNonRetryable(name, () => {
        const event = { eventId: eventIdOf(eventId), content: eventContentOf(data) };
        return options?.workflowRunId === undefined ? event : { ...event, workflowRunId: runIdOf(options.workflowRunId) };
      });
      const content = { ...stepFields.content, body: sealBody(encryption, stepFields.content.body) };
      return execution.requestStep((stepId) => ({ stepId, name: stepName, type: 'Notify', ...stepFields, content }), {
        read: notifyResultOf,
      });
    },
    call<Body>(name: string, request: Parameters<WorkflowContext<Payload>['call']>[1]) {
      const stepName = validStepName(name);
      const call = asNonRetryable(name, () => callSpecOf(request));
      return execution.requestStep((stepId) => ({ stepId, name: stepName, type: 'Call', call }), { read: callResultOf<Body> });
    },
    invoke<Body>(name: string, invocation: Parameters<WorkflowContext<Payload>['invoke']>[1]) {
      const stepName = validStepName(name);
      const stepFields = asNonRetryable(name, () => invokeSpecOf(invocation));
      const { body } = stepFields;
      const isSealed = body !== undefined && invocation.encrypt !== false;
      const invoke = isSealed ? { ...stepFields, body: sealBody(encryption, body) } : stepFields;
      return execution.requestStep((stepId) => ({ stepId, name: stepName, type: 'Invoke', invoke }), {
        read: (recorded) => invokeResultOf<Body>(recorded, encryption),
      });
    },
    createWebhook(name) {
      const stepName = validStepName(name);
      return execution.requestStep((stepId) => ({ stepId, name: stepName, type: 'CreateWebhook' }), { read: webhookOf });
    },
    waitForWebhook(name, webhook, options) {
      const stepName = validStepName(name);
      const stepFields = asNonRetryable(name, () => ({
        eventIds: [eventIdOf(webhook.eventId)],
        timeoutMs: timeoutMsOf(options),
      }));
      return execution.requestStep((stepId) => ({ stepId, name: stepName, type: 'WaitForWebhook', ...stepFields }), {
        read: (recorded) => webhookResultOf(recorded, encryption),
      });
    },
    logFields() {
      const step = execution.currentStep;
      return step ? { runId: id, stepId: step.stepId, stepName: step.name } : { runId: id };
    },
    cancel() {
      execution.settle({ kind: 'canceled' });
      return new Promise<never>(() => {});
    },
  };
}
