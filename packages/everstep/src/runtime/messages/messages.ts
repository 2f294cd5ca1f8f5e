/** Sends the requests of call steps and plain messages, and returns their outcomes to the engine. */
import { LIMITS } from '../../config/limits.js';
import type { RunEvent } from '../../engine/runs/decide.js';
import type { Task } from '../../engine/runs/run.js';
import type { MessageOutcome, MessageSender } from '../../ports/message-sender.js';
import type { Traces } from '../../ports/traces.js';
import { originOf } from '../dispatch/origins.js';
import { decodeBody, encodeBody } from '../dispatch/requests/encoded-body.js';
import type { AttemptHooks } from '../dispatch/requests/step-delivery.js';
import { maxResponseBytesOf, type ResponseLimits } from '../dispatch/requests/timeouts.js';
import type { CachedRun } from '../runs/run-cache.js';
import { messageFailureOf } from './message-outcome.js';

/** Makes the request of a call step. Resolves with its outcome as an event, or with null if the request was aborted. */
export async function makeCall(
  sender: MessageSender,
  entry: CachedRun,
  task: Extract<Task, { kind: 'call' }>,
  { now, traces, limits }: { readonly now: () => number; readonly traces: Traces; readonly limits: ResponseLimits },
  { onSent, outcomeRecorded }: AttemptHooks,
): Promise<RunEvent | null> {
  entry.abortController ??= new AbortController();
  const { signal } = entry.abortController;
  const { instanceId, dialect, settings, workflowUrl } = entry.durableRun;
  const { call } = task;
  entry.deliveries++;
  let outcome: MessageOutcome;
  try {
    outcome = await sender.send(
      {
        instanceId,
        dialect,
        method: call.method,
        url: call.url,
        headers: call.headers,
        body: call.body ? decodeBody(call.body) : null,
        trace: traces.traceOfAttempt(entry.durableRun, task),
        timeoutMs: call.timeoutMs ?? LIMITS.defaultDeliveryTimeoutMs,
        maxResponseBytes: maxResponseBytesOf(instanceId, limits),
        // Otherwise a third party could send the signed request that it received to the user's own endpoints.
        signed: originOf(call.url) === originOf(workflowUrl) ? { kind: 'call', isOwn: true } : null,
        headerMode: 'exact',
        outcomeRecorded,
      },
      signal,
      onSent,
    );
  } finally {
    entry.deliveries--;
  }
  if (signal.aborted) return null;
  const attempt = { slot: task.slot, messageId: task.messageId, retried: task.retried };
  const failure = messageFailureOf(outcome, now(), settings.redact !== undefined);
  const response =
    outcome.kind === 'response'
      ? {
          ...{ status: outcome.status, headers: outcome.headers, body: encodeBody(outcome.body) },
          ...(outcome.sent ? { sent: outcome.sent } : {}),
        }
      : null;
  return { kind: 'call-attempted', attempt, response, failure };
}
