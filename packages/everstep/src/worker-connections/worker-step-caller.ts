/**
 * Calls workflows at worker URLs over the connections of their workers. Calls to all other URLs are passed on.
 * Keeps invariant 32.
 */
import { NON_RETRYABLE_STATUS, type NoticeAnswer, parseJson, parseWorkerUrl, type StepReply } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import { sentBytesOf } from '../dialects/dialect.js';
import { InvalidFieldError, readFields } from '../dialects/frame-fields.js';
import { readVerdict } from '../dialects/native/check-codec.js';
import { readReply } from '../dialects/native/parse-reply.js';
import { requestParts as nativeRequestParts } from '../dialects/native/step-codec.js';
import type { SentRequest } from '../engine/runs/exchanges.js';
import type { DeliveryFailure } from '../engine/runs/run.js';
import { processInSlices } from '../fairness/process-in-slices.js';
import { LONG_BYTES, type WorkSlices } from '../fairness/work-slices.js';
import type { Message, MessageOutcome, MessageSender } from '../ports/message-sender.js';
import { NotAttemptedError } from '../ports/not-attempted.js';
import type { ReplayCheck, ReplayVerdict, StepCall, StepCaller, StepOutcome } from '../ports/step-caller.js';
import { isWorkerUrl } from '../ports/workers.js';
import { truncateBody } from '../responses/retry-advice.js';
import { readNotice, readNoticeReply } from './notices.js';
import type { ExchangeOptions, ExchangeOutcome, LongStepRequest, WorkerLink, WorkerRequest } from './worker-link.js';
import type { WorkerPools, WorkerTarget } from './worker-pools.js';

/** A request that is lost this many times before a worker starts it counts as a failed attempt. */
const MAX_LOSSES = 3;
/** Maximum number of requests whose losses are remembered. */
const MAX_LOST_REQUESTS = 10_000;
const METHOD = 'WORKER';
const INVALID_REPLY = 'invalid reply';
const NO_BODY = new Uint8Array(0);
const BACKOFF = { kind: 'backoff' } as const;
const NEVER = { kind: 'never' } as const;

type FailedOutcome = Extract<StepOutcome, { kind: 'failure' }>;

function failureOf(
  cause: DeliveryFailure['cause'],
  message: string,
  sent?: SentRequest,
  retry: DeliveryFailure['retry'] = BACKOFF,
): FailedOutcome {
  const noResponse = { status: null, responseHeaders: {}, responseBody: NO_BODY };
  return { kind: 'failure', failure: { cause, message, retry, ...noResponse, ...(sent ? { sent } : {}) } };
}

/** Destination of a request. */
interface Destination {
  readonly instanceId: string;
  readonly url: string;
  /** Key of the run; empty if the request does not belong to a run that a worker may hold. */
  readonly runKey: string;
  readonly deliveryKey?: string | undefined;
  /** Identifies the request when it is repeated without an attempt. */
  readonly requestKey: string;
}

/** A request that was passed to a connection. */
interface Exchange {
  readonly link: WorkerLink;
  /** Time when the request was sent, Unix ms. */
  readonly startedAt: number;
  readonly outcome: Promise<ExchangeOutcome>;
}

interface ExchangeResult {
  readonly outcome: Exclude<ExchangeOutcome, { readonly kind: 'lost' | 'aborted' }>;
  readonly link: WorkerLink;
  readonly sent: SentRequest;
}

/** Returns the HTTP status of an equivalent reply over HTTP, which dead letters and logs show. */
function statusOf(reply: StepReply): number {
  if (reply.kind === 'refused') return 400;
  if (reply.kind !== 'failed') return 200;
  switch (reply.retry.kind) {
    case 'never':
      return NON_RETRYABLE_STATUS;
    case 'after':
      return 429;
    case 'backoff':
      return 500;
  }
}

export interface WorkerCallerOptions {
  readonly pools: WorkerPools;
  /** Transports of all URLs that are not worker URLs. */
  readonly otherTransports: { readonly stepCaller: StepCaller; readonly messageSender: MessageSender };
  /** Returns the current time, Unix ms. */
  readonly now: () => number;
  /** Encodes long requests in slices. If absent, they are encoded in one piece. */
  readonly slices?: Pick<WorkSlices, 'run'>;
}

export class WorkerStepCaller implements StepCaller, MessageSender {
  private readonly options: WorkerCallerOptions;
  /**
   * Number of times that each request was lost before a worker started it. While no worker is connected, requests wait at the
   * gates instead.
   */
  private readonly losses = new Map<string, number>();

  constructor(options: WorkerCallerOptions) {
    this.options = options;
  }

  call(call: StepCall, signal: AbortSignal, onSent?: () => void): Promise<StepOutcome> {
    if (!isWorkerUrl(call.workflowUrl)) return this.options.otherTransports.stepCaller.call(call, signal, onSent);
    return this.callWorker(call, signal, onSent);
  }

  async check(check: ReplayCheck, signal: AbortSignal): Promise<ReplayVerdict> {
    const { stepCaller } = this.options.otherTransports;
    const { instanceId, workflowUrl: url, request, timeoutMs } = check;
    const cannotTell = (message: string): ReplayVerdict => ({ outcome: 'cannot-tell', message });
    if (!isWorkerUrl(url))
      return stepCaller.check?.(check, signal) ?? cannotTell('this transport does not support replay checks');
    try {
      const workflow = parseWorkerUrl(url)?.workflow ?? '';
      const destination = { instanceId, url, runKey: '', requestKey: `check ${request.run.key}` };
      const exchangeResult = await this.exchange(destination, { kind: 'check', workflow, request }, { timeoutMs, signal });
      if (!('outcome' in exchangeResult)) return cannotTell(exchangeResult.failure.message);
      const { outcome } = exchangeResult;
      const verdict = outcome.kind === 'replied' ? readVerdict(readFields(outcome.reply, 'the reply'), check) : null;
      return verdict ?? cannotTell('the worker did not respond to the replay check');
    } catch (error) {
      if (error instanceof InvalidFieldError) return cannotTell(`the worker responded with an invalid frame: ${error.summary}`);
      if (error instanceof NotAttemptedError) return cannotTell(error.message);
      throw error;
    }
  }

  async send(message: Message, signal: AbortSignal, onSent?: () => void): Promise<MessageOutcome> {
    const { url, instanceId, deliveryKey, timeoutMs, signed, outcomeRecorded } = message;
    if (!isWorkerUrl(url)) return this.options.otherTransports.messageSender.send(message, signal, onSent);
    const isNotice = signed?.kind === 'failure-function' || signed?.kind === 'failure-callback';
    if (!isNotice || message.body === null)
      return failureOf('refused', 'a worker URL accepts workflow runs and failure callbacks only', undefined, NEVER);
    const notice = readNotice(parseJson(Buffer.from(message.body).toString('utf8')));
    const workflow = parseWorkerUrl(url)?.workflow ?? '';
    const requestKey = `notice ${instanceId} ${notice.dlqId} ${notice.workflowRunId}`;
    const destination = { instanceId, url, runKey: '', deliveryKey, requestKey };
    const exchangeResult = await this.exchange(
      destination,
      { kind: 'notice', workflow, notice },
      { timeoutMs, signal, onSent, outcomeRecorded },
    );
    if (!('outcome' in exchangeResult)) return exchangeResult;
    const { outcome, sent, link } = exchangeResult;
    if (outcome.kind === 'timed-out') return this.timeoutFailure(timeoutMs, { link, sent });
    const result = outcome.kind === 'noticed' ? readNoticeReply(outcome.outcome) : null;
    if (!result) {
      link.lastError = INVALID_REPLY;
      return failureOf('not-protocol', 'the worker responded to a failure notice with an invalid frame', sent);
    }
    if (result.kind === 'failed') link.lastError = 'failure function failed';
    return { ...messageOutcomeOf(result), sent };
  }

  close(): Promise<void> {
    return this.options.otherTransports.stepCaller.close();
  }

  /** Encodes a long request. Returns a failure if the request is longer than workers can receive. */
  private async longFrameOf(
    { request, instanceId }: StepCall,
    workflow: string,
    slices: Pick<WorkSlices, 'run'>,
  ): Promise<LongStepRequest | FailedOutcome> {
    const { maxWorkerRequestBytes: maxBytes } = LIMITS;
    const requestParts: string[] = [];
    let bytes = 0;
    const addPart = (part: string): number => {
      bytes += Buffer.byteLength(part);
      if (bytes <= maxBytes) requestParts.push(part);
      return part.length;
    };
    await processInSlices(nativeRequestParts(request), addPart, (work) => slices.run(instanceId, work));
    if (bytes <= maxBytes) return { kind: 'long-step', workflow, requestParts };
    const limit = `the limit for worker connections is ${maxBytes} bytes (maxWorkerRequestBytes)`;
    const advice = 'store large values elsewhere and return references to them from the steps, or serve the workflow over HTTP';
    const message = `the request with the results of the run has ${bytes} bytes, but ${limit}: ${advice}`;
    return failureOf('refused', message, undefined, NEVER);
  }

  private async callWorker(call: StepCall, signal: AbortSignal, onSent: (() => void) | undefined): Promise<StepOutcome> {
    const { instanceId, workflowUrl: url, deliveryKey, request, timeoutMs, hidesData, outcomeRecorded } = call;
    const workflow = parseWorkerUrl(url)?.workflow ?? '';
    const { run, messageId, retried } = request;
    const { slices } = this.options;
    const isLong = slices !== undefined && sentBytesOf(call) >= LONG_BYTES;
    const frame = isLong ? await this.longFrameOf(call, workflow, slices) : ({ kind: 'step', workflow, request } as const);
    if (frame.kind === 'failure') return frame;
    const exchangeResult = await this.exchange(
      { instanceId, url, runKey: run.key, deliveryKey, requestKey: `${run.key} ${messageId} ${retried}` },
      frame,
      {
        timeoutMs,
        signal,
        onSent,
        outcomeRecorded,
      },
    );
    if (!('outcome' in exchangeResult)) return exchangeResult;
    const { outcome, link, sent } = exchangeResult;
    if (outcome.kind === 'timed-out') return this.timeoutFailure(timeoutMs, { link, sent });
    if (outcome.kind === 'too-long') {
      link.lastError = 'reply too long';
      const limit = `${LIMITS.maxReplyBytes} bytes (maxReplyBytes)`;
      return failureOf('http', `the worker's reply has ${outcome.bytes} bytes, more than ${limit}`, sent);
    }
    const parsedReply = outcome.kind === 'replied' ? readReply(outcome.reply, request, this.options.now()) : null;
    if (!parsedReply?.ok) {
      const problem = parsedReply ? (hidesData ? parsedReply.summary : parsedReply.problem) : 'it is not a reply to a step';
      link.lastError = INVALID_REPLY;
      return failureOf('not-protocol', `the worker sent an invalid reply: ${problem}`, sent, NEVER);
    }
    const { reply } = parsedReply;
    const isFailed = reply.kind === 'failed' || reply.kind === 'refused';
    if (reply.kind === 'failed') link.lastError = reply.error.name;
    const holdsRun = (reply.kind === 'progress' || reply.kind === 'failed') && reply.hold !== undefined;
    this.options.pools.recordReply(link, request.run.key, holdsRun);
    // Only a failure is shown with its response. The reply itself contains everything else.
    const responseBody = isFailed
      ? truncateBody(Buffer.from(JSON.stringify(outcome.kind === 'replied' ? outcome.reply : null)))
      : NO_BODY;
    return { kind: 'reply', reply, status: statusOf(reply), responseHeaders: {}, responseBody, sent };
  }

  /**
   * Sends a request to a worker. If the connection is lost before a worker has started it, another worker gets it. Rejects
   * with NotAttemptedError if no worker serves the workflow; the losses are remembered until the request is repeated.
   */
  private async exchange(
    destination: Destination,
    request: WorkerRequest,
    options: ExchangeOptions,
  ): Promise<ExchangeResult | FailedOutcome> {
    const { pools } = this.options;
    const { url, requestKey } = destination;
    const workerUrl = parseWorkerUrl(url);
    if (!workerUrl) return failureOf('refused', 'the worker URL is invalid', undefined, NEVER);
    const target = { ...destination, ...workerUrl };
    for (;;) {
      if (options.signal.aborted) return failureOf('network', 'the request was aborted');
      const pickedLink = pools.pick(target);
      const exchange =
        pickedLink === 'busy' ? await this.sendWhenFree(target, request, options) : this.sendOver(pickedLink, request, options);
      if (!exchange) {
        if (options.signal.aborted) return failureOf('network', 'the request was aborted');
        throw new NotAttemptedError(`no worker that serves ${url} is connected`);
      }
      const outcome = await exchange.outcome;
      const { link } = exchange;
      const sent = this.sentRequestOf(url, exchange, outcome);
      if (outcome.kind === 'aborted') return failureOf('network', 'the request was aborted', sent);
      if (outcome.kind === 'lost' && !outcome.started && !this.countLoss(requestKey)) continue;
      if (this.losses.size > 0) this.losses.delete(requestKey);
      if (outcome.kind !== 'lost') return { outcome, link, sent };
      return failureOf('network', 'the connection to the worker was lost before the worker responded', sent);
    }
  }

  private sendOver(link: WorkerLink | null, request: WorkerRequest, options: ExchangeOptions): Exchange | null {
    return link && { link, startedAt: this.options.now(), outcome: link.exchange(request, options) };
  }

  private sendWhenFree(target: WorkerTarget, request: WorkerRequest, options: ExchangeOptions): Promise<Exchange | null> {
    return new Promise((resolve) => {
      this.options.pools.waitForFree(target, options.signal, (link) => resolve(this.sendOver(link, request, options)));
    });
  }

  /**
   * Counts a loss before the worker has started the request. Returns whether it counts as a failed attempt: a request that
   * crashes each worker before the worker reports its start must not be repeated forever.
   */
  private countLoss(requestKey: string): boolean {
    const count = (this.losses.get(requestKey) ?? 0) + 1;
    this.losses.delete(requestKey);
    if (count >= MAX_LOSSES) return true;
    this.losses.set(requestKey, count);
    const [oldest] = this.losses.keys();
    if (oldest !== undefined && this.losses.size > MAX_LOST_REQUESTS) this.losses.delete(oldest);
    return false;
  }

  private timeoutFailure(timeoutMs: number, { link, sent }: Pick<ExchangeResult, 'link' | 'sent'>): FailedOutcome {
    link.lastError = 'timeout';
    return failureOf('timeout', `the worker did not respond within ${timeoutMs} ms`, sent);
  }

  private sentRequestOf(url: string, { link: { profile }, startedAt }: Exchange, outcome: ExchangeOutcome): SentRequest {
    return {
      startedAt,
      durationMs: Math.max(0, this.options.now() - startedAt),
      method: METHOD,
      url,
      headers: ['worker-id', profile.workerId, ...(profile.host === undefined ? [] : ['worker-host', profile.host])],
      bodyBytes: 0,
      body: null,
      responseBytes: outcome.kind === 'replied' ? outcome.bytes : null,
    };
  }
}

/** Returns the HTTP response of an endpoint with the same outcome, which determines the retries. */
function messageOutcomeOf(response: NoticeAnswer): Extract<MessageOutcome, { kind: 'response' }> {
  if (response.kind === 'handled') return { kind: 'response', status: 200, headers: {}, body: NO_BODY };
  const body = Buffer.from(JSON.stringify({ error: response.message }));
  switch (response.retry.kind) {
    case 'never':
      return { kind: 'response', status: NON_RETRYABLE_STATUS, headers: { 'nonretryable-error': ['true'] }, body };
    case 'after':
      return {
        kind: 'response',
        status: 429,
        headers: { 'retry-after': [String(Math.ceil(response.retry.delayMs / 1000))] },
        body,
      };
    case 'backoff':
      return { kind: 'response', status: 500, headers: {}, body };
  }
}
