/** Notifies failure callbacks and failure functions of failed runs, until they accept or the retries are used up. */
import { FAILURE_FUNCTION_HEADER, type FailureNotice, parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { DecisionContext } from '../../engine/ids.js';
import { type CallbackTask, cancelCallback, decideCallback, retryCallback } from '../../engine/messages/callback.js';
import { CALLBACK_SLOT, type DeliveryFailure, type Run, type Task } from '../../engine/runs/run.js';
import type { MessageSender } from '../../ports/message-sender.js';
import type { DeadLetterStore } from '../../ports/stores/dead-letter-store.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { FullDeadLetter } from '../../ports/stores/store.js';
import type { Traces } from '../../ports/traces.js';
import { canonicalHeaders } from '../../responses/header-names.js';
import type { StoreWrites } from '../commits/store-writes.js';
import { originOf } from '../dispatch/origins.js';
import { callbackTimeoutMsOf } from '../dispatch/requests/timeouts.js';
import { deliveryKeyOf } from '../gates/delivery.js';
import type { CallbackOutcome, DeadLetterId, FailureCallbackService } from '../interface/dead-letters.js';
import { messageNotice, sourceHeaderOf } from '../messages/message-notice.js';
import { messageFailureOf } from '../messages/message-outcome.js';
import type { Decisions } from '../runs/decisions.js';

export interface CallbacksOptions {
  readonly store: RunStore & DeadLetterStore;
  readonly sender: MessageSender;
  readonly writes: Pick<StoreWrites, 'persist'>;
  readonly decisions: Decisions;
  readonly context: () => DecisionContext;
  readonly traces: Traces;
  /** Schedules the next attempt of the run's notification. */
  readonly scheduleAttempt: (run: Run, task: CallbackTask) => void;
}

const IN_PROGRESS: CallbackOutcome = Object.freeze({
  kind: 'not-possible',
  why: 'the failure callback is in progress; wait until it ends, or cancel it first',
});

/** Returns the URL that is notified. */
export const callbackUrlOf = (run: Pick<Run, 'settings' | 'workflowUrl'>): string =>
  run.settings.failureCallback?.url ?? run.workflowUrl;

/** Returns the pending callback task of a run; null if there is none. */
export const openCallbackTask = (tasks: ReadonlyMap<number, Task>): CallbackTask | null => {
  const task = tasks.get(CALLBACK_SLOT);
  return task?.kind === 'callback' ? task : null;
};

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** Returns the error in the form that endpoints with the published SDK read. They expect it in the body of the last response. */
function bodyWithError({ responseBody, error }: FullDeadLetter): Uint8Array {
  try {
    const body: unknown = parseJson(Buffer.from(responseBody).toString('utf8'));
    if (typeof body === 'object' && body !== null && 'message' in body && typeof body.message === 'string') return responseBody;
  } catch {
    // The body is not JSON, for example an error page of a gateway, or it is empty.
  }
  return Buffer.from(JSON.stringify({ error: 'WorkflowError', message: error }));
}

/**
 * Returns the body of the notification. A failure function also receives the error text and the labels. A callback receives the
 * error text as the body if there was no response, and the labels in a header.
 */
function noticeOf(run: Run, deadLetter: FullDeadLetter, retried: number): FailureNotice {
  const { responseStatus } = deadLetter;
  const isForFunction = run.settings.failureCallback === null;
  const isErrorTheBody = responseStatus === null && !isForFunction;
  const plainBody = isErrorTheBody ? Buffer.from(deadLetter.error) : deadLetter.responseBody;
  return {
    status: responseStatus ?? 0,
    header: canonicalHeaders(deadLetter.responseHeaders),
    body: base64(run.settings.steps ? bodyWithError(deadLetter) : plainBody),
    ...(isForFunction ? { error: deadLetter.error, labels: run.settings.labels } : {}),
    retried,
    maxRetries: run.settings.maxRetries,
    sourceMessageId: `msg_${run.key}`,
    url: run.workflowUrl,
    method: 'POST',
    sourceHeader: sourceHeaderOf(deadLetter.payload, { from: run.workflowUrl, to: callbackUrlOf(run) }),
    sourceBody: base64(deadLetter.body),
    workflowRunId: run.workflowRunId,
    workflowCreatedAt: run.createdAt,
    dlqId: deadLetter.dlqId,
    createdAt: deadLetter.createdAt,
  };
}

/** Returns the headers that identify the run. */
const runHeadersOf = ({ workflowRunId, workflowUrl, settings: { labels } }: Run): Readonly<Record<string, string>> => ({
  'Workflow-RunId': workflowRunId,
  'Workflow-Url': workflowUrl,
  ...(labels.length === 0 ? {} : { Label: labels.join(',') }),
});

/**
 * Returns the notification about a message. `retried` is the number of retries of the failed delivery. Without a response, the
 * body is the error text.
 */
function noticeOfMessage(run: Run, deadLetter: FullDeadLetter, retried: number): Uint8Array {
  const { responseStatus: status, responseHeaders: headers } = deadLetter;
  const body = status === null ? Buffer.from(deadLetter.error) : deadLetter.responseBody;
  return messageNotice(
    run,
    { ...deadLetter.payload, body: deadLetter.body },
    { status: status ?? 0, headers, body, retried },
    callbackUrlOf(run),
    deadLetter.dlqId,
  );
}

export class Callbacks implements FailureCallbackService {
  private readonly options: CallbacksOptions;

  constructor(options: CallbacksOptions) {
    this.options = options;
  }

  /**
   * Makes one attempt. Resolves with its failure, or with null if it succeeded. Resolves with `abandoned` if the attempt was
   * aborted and the task is still due, and with `refused` if `mayTake` rejected the timeout and nothing was sent.
   */
  async deliver(
    runKey: string,
    signal: AbortSignal,
    mayTake: (run: Run, timeoutMs: number) => boolean,
    outcomeRecorded: Promise<void>,
  ): Promise<DeliveryFailure | null | 'abandoned' | 'refused'> {
    const { store, sender, writes, decisions, context, traces, scheduleAttempt } = this.options;
    const run = await store.loadRun({ runKey });
    const task = run && openCallbackTask(run.tasks);
    if (!run || !task || task.dueAt === null || task.dueAt > context().now) return 'abandoned';
    const timeoutMs = callbackTimeoutMsOf(run);
    if (!mayTake(run, timeoutMs)) return 'refused';
    const deadLetter = await this.findFullDeadLetter(run.instanceId, task.dlqId);
    if (!deadLetter) return 'abandoned';
    const { failureCallback, message } = run.settings;
    const url = callbackUrlOf(run);
    const retried = await store.countRetriesBeforeFailure({ runKey, at: deadLetter.createdAt });
    const trace = traces.traceOfAttempt(run, task);
    const outcome = await sender.send(
      {
        instanceId: run.instanceId,
        deliveryKey: deliveryKeyOf({ runKey, slot: task.slot }),
        dialect: run.dialect,
        method: failureCallback?.method ?? 'POST',
        url,
        headers: { ...(failureCallback?.headers ?? deadLetter.payload.forwardHeaders), 'content-type': 'application/json' },
        serviceHeaders: {
          ...(message ? {} : runHeadersOf(run)),
          'Message-Id': task.messageId,
          Retried: String(task.retried),
          ...(failureCallback === null ? { [FAILURE_FUNCTION_HEADER]: 'true' } : {}),
        },
        body: message
          ? noticeOfMessage(run, deadLetter, retried)
          : Buffer.from(JSON.stringify(noticeOf(run, deadLetter, retried))),
        trace,
        timeoutMs,
        maxResponseBytes: LIMITS.maxReplyBytes,
        signed: {
          kind: failureCallback === null ? 'failure-function' : 'failure-callback',
          isOwn: message === undefined && originOf(url) === originOf(run.workflowUrl),
        },
        headerMode: 'forwarded',
        outcomeRecorded,
      },
      signal,
    );
    if (signal.aborted) return 'abandoned';
    const failure = messageFailureOf(outcome, context().now, run.settings.redact !== undefined);
    const isUnwanted = failure === null && outcome.kind === 'response' && outcome.unwanted === true;
    const { unit, next } = decideCallback(run, task, isUnwanted ? 'unwanted' : failure, context());
    const result = await writes.persist(unit, () => decisions.commit(unit));
    if (result?.kind === 'applied' && next) scheduleAttempt(run, next);
    return failure;
  }

  async retry({ instanceId, dlqId }: DeadLetterId): Promise<CallbackOutcome> {
    const failedRun = await this.find(instanceId, dlqId);
    if (!failedRun) return { kind: 'not-found' };
    const { run, task } = failedRun;
    if (task) return IN_PROGRESS;
    if (run.settings.failureCallback === null && !run.hasFailureFunction) {
      return { kind: 'not-possible', why: 'the run has neither a failure callback nor a failure function' };
    }
    const { unit, next } = retryCallback(run, dlqId, this.options.context());
    const result = await this.options.decisions.commit(unit);
    if (result.kind === 'slot-taken') return IN_PROGRESS;
    if (result.kind !== 'applied') return { kind: 'not-found' };
    this.options.scheduleAttempt(run, next);
    return { kind: 'done' };
  }

  async cancel({ instanceId, dlqId }: DeadLetterId): Promise<CallbackOutcome> {
    const failedRun = await this.find(instanceId, dlqId);
    if (!failedRun) return { kind: 'not-found' };
    const { run, task } = failedRun;
    const notInProgress = { kind: 'not-possible', why: 'no failure callback is in progress' } as const;
    if (!task) return notInProgress;
    const result = await this.options.decisions.commit(cancelCallback(run, task));
    return result.kind === 'applied' ? { kind: 'done' } : notInProgress;
  }

  private async findFullDeadLetter(instanceId: string, dlqId: string): Promise<FullDeadLetter | null> {
    const { store } = this.options;
    const deadLetter = await store.findDeadLetter({ instanceId, dlqId });
    const bodies = deadLetter && (await store.loadDeadLetterBodies({ instanceId, dlqIds: [dlqId] })).get(dlqId);
    return deadLetter && bodies ? { ...deadLetter, ...bodies } : null;
  }

  private async find(
    instanceId: string,
    dlqId: string,
  ): Promise<{ readonly run: Run; readonly task: CallbackTask | null } | null> {
    const { store } = this.options;
    const deadLetter = await store.findDeadLetter({ instanceId, dlqId });
    const run = deadLetter && (await store.loadRun({ runKey: deadLetter.runKey }));
    return run && { run, task: openCallbackTask(run.tasks) };
  }
}
