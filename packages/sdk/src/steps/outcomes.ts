/**
 * Results of the steps that the server executes, as workflow code receives them. The recorded results are plain
 * JSON; the helper functions on them are created again on each replay. The server guarantees the shapes.
 */
import { bytesOf } from '../encoded-body.js';
import { openValue, type PayloadCipher } from '../encryption/envelope.js';
import type { CallOutcome, InvokeOutcome, NotifyOutcome, WaitOutcome, WebhookOutcome } from '../protocol.js';
import { eventDataOf, readersOf, responseBodyOf, webhookRequestOf } from './content.js';
import type { CallResult, InvokeResult, NotifyResult, WaitResult, Webhook, WebhookResult } from './step-types.js';

/** Returns the result of a wait. Throws the errors of `eventDataOf`. */
export function waitResultOf<Data>(recorded: unknown, cipher?: PayloadCipher): WaitResult<Data> {
  const outcome = recorded as WaitOutcome;
  if (outcome.timeout) return { timeout: true, eventId: undefined, eventData: undefined };
  // The type of the data is what the sender of the event promises.
  return { timeout: false, eventId: outcome.eventId, eventData: eventDataOf(outcome.content, cipher) as Data };
}

/** Returns the result of waiting for a webhook. */
export function webhookResultOf(recorded: unknown, cipher?: PayloadCipher): WebhookResult {
  const outcome = recorded as WaitOutcome;
  if (outcome.timeout) return { timeout: true, request: undefined };
  return { timeout: false, request: webhookRequestOf(outcome.content, cipher) };
}

/** Returns the result of a notification. */
export function notifyResultOf(recorded: unknown): NotifyResult {
  const { notified, kept } = recorded as NotifyOutcome;
  return { notified, kept };
}

/** Returns a created webhook. */
export function webhookOf(recorded: unknown): Webhook {
  const { webhookUrl, eventId } = recorded as WebhookOutcome;
  return { webhookUrl, eventId };
}

/** Returns the result of a call. */
export function callResultOf<Body>(recorded: unknown): CallResult<Body> {
  const { status, headers, body, attempts, error } = recorded as CallOutcome;
  return {
    status,
    ok: status >= 200 && status < 300,
    headers,
    body: responseBodyOf(body, headers['content-type']?.[0]) as Body,
    attempts,
    ...(error === undefined ? {} : { error }),
    bytes: () => bytesOf(body),
    ...readersOf(body),
  };
}

/** Returns the result of an invocation. Throws if `result` is not valid JSON or cannot be decrypted. */
export function invokeResultOf<Body>(recorded: unknown, cipher?: PayloadCipher): InvokeResult<Body> {
  const outcome = recorded as InvokeOutcome;
  const { workflowRunId, workflowCreatedAt } = outcome;
  const run = { workflowRunId, workflowCreatedAt };
  switch (outcome.state) {
    case 'succeeded': {
      const { result } = outcome;
      const subject = `the result of the run ${workflowRunId}`;
      const body = result === undefined ? undefined : openValue<Body>(cipher, JSON.parse(result), subject);
      return { ...run, state: 'succeeded', body: body as Body };
    }
    case 'failed':
      return { ...run, state: 'failed', error: outcome.error };
    case 'canceled':
      return { ...run, state: 'canceled' };
  }
}
