/** Sends a plain message to its destination and returns the response as an event for the engine. */
import type { RunEvent } from '../../../engine/runs/decide.js';
import type { DeliveryFailure, Run, RunPayload, Task } from '../../../engine/runs/run.js';
import type { MessageOutcome, MessageSender } from '../../../ports/message-sender.js';
import type { Store } from '../../../ports/stores/store.js';
import type { Traces } from '../../../ports/traces.js';
import type { CachedAlertSettings } from '../../alerts/alert-settings-cache.js';
import { targetOf, unknownDestinationFailure } from '../../alerts/notice-target.js';
import { messageNotice } from '../../messages/message-notice.js';
import { messageFailureOf } from '../../messages/message-outcome.js';
import type { CachedRun } from '../../runs/run-cache.js';
import type { AttemptHooks } from './step-delivery.js';
import { maxResponseBytesOf, type ResponseLimits } from './timeouts.js';

type MessageTask = Extract<Task, { kind: 'message' }>;

/** Dependencies of the delivery of a message. */
export interface MessageDeliveryDeps {
  readonly store: Pick<Store, 'loadPayload'>;
  readonly sender: MessageSender;
  readonly now: () => number;
  readonly traces: Traces;
  readonly alerts: CachedAlertSettings;
  readonly limits: ResponseLimits;
}

/** Returns the headers that the server adds to the message. */
function serviceHeadersOf(run: Run, task: MessageTask): Readonly<Record<string, string>> {
  const { queue, urlGroup, endpointName, scheduleId } = run.settings.message ?? {};
  return {
    'Message-Id': run.workflowRunId,
    Retried: String(task.retried),
    'Caller-IP': run.callerIp,
    ...(scheduleId === undefined ? {} : { 'Schedule-Id': scheduleId }),
    ...(queue === undefined ? {} : { 'Queue-Name': queue }),
    ...(urlGroup === undefined ? {} : { 'Topic-Name': urlGroup }),
    ...(endpointName === undefined ? {} : { 'Endpoint-Name': endpointName }),
  };
}

function removeRequest(failure: DeliveryFailure | null): DeliveryFailure | null {
  if (failure === null) return null;
  const { sent: _request, ...failureWithoutRequest } = failure;
  return failureWithoutRequest;
}

/** Sends the message. Resolves with null if the attempt was given up. */
export async function sendMessage(
  { store, sender, now, traces, alerts, limits }: MessageDeliveryDeps,
  entry: CachedRun,
  task: MessageTask,
  { onSent, outcomeRecorded }: AttemptHooks,
): Promise<RunEvent | null> {
  entry.abortController ??= new AbortController();
  const { signal } = entry.abortController;
  const run = entry.durableRun;
  const { settings } = run;
  const attempt = { slot: task.slot, messageId: task.messageId, retried: task.retried };
  const destinationName = settings.message?.destination;
  const destination = destinationName === undefined ? null : alerts.destination(run.instanceId, destinationName);
  if (destinationName !== undefined && !destination)
    return { kind: 'message-attempted', attempt, failure: unknownDestinationFailure(destinationName), notice: null };
  entry.deliveries++;
  let payload: RunPayload | null;
  let outcome: MessageOutcome;
  try {
    payload = entry.payload ?? (await store.loadPayload({ runKey: run.key }));
    if (payload === null) throw new Error(`the message ${run.key} has no payload`);
    const { body, contentType, forwardHeaders } = payload;
    const target = destination && targetOf(destination, run.workflowRunId);
    outcome = await sender.send(
      {
        instanceId: run.instanceId,
        dialect: run.dialect,
        method: settings.message?.method ?? 'POST',
        url: run.workflowUrl,
        ...target,
        headers: { ...forwardHeaders, ...(contentType === null ? {} : { 'content-type': contentType }) },
        serviceHeaders: target ? {} : serviceHeadersOf(run, task),
        body: body.byteLength === 0 ? null : body,
        trace: traces.traceOfAttempt(run, task),
        timeoutMs: settings.deliveryTimeoutMs,
        maxResponseBytes: maxResponseBytesOf(run.instanceId, limits),
        // A long response must not cause the message to be sent again.
        anyBody: true,
        signed: target ? null : { kind: 'message', isOwn: false },
        headerMode: 'forwarded',
        outcomeRecorded,
      },
      signal,
      onSent,
    );
  } finally {
    entry.deliveries--;
  }
  if (signal.aborted) return null;
  entry.payload = null;
  const failure = messageFailureOf(outcome, now(), settings.redact !== undefined);
  const notice =
    outcome.kind === 'response' && settings.message?.callback
      ? messageNotice(run, payload, { ...outcome, retried: task.retried }, settings.message.callback.url)
      : null;
  // The request contains the URL of the destination, which may be a secret.
  return { kind: 'message-attempted', attempt, failure: destination ? removeRequest(failure) : failure, notice };
}
