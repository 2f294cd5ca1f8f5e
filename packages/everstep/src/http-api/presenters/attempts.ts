/**
 * Presents the attempts of a run: failed attempts as they were stored, and successful attempts as reconstructed from the
 * journal.
 */
import { type CallOutcome, type EncodedBody, parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { RunAttempt } from '../../contract/attempts.js';
import { encodeBodyStart, type StoredExchange } from '../../engine/runs/exchanges.js';
import {
  ADVANCE_SLOT,
  CALLBACK_SLOT,
  type FailedAttempt,
  type RecordedStep,
  type Redaction,
  type RunPayload,
  type Task,
} from '../../engine/runs/run.js';
import type { ListedStep, RunRecord } from '../../ports/stores/store.js';
import { optional } from './optional.js';
import { type PresentedBody, RebuiltRequests } from './rebuilt-request.js';
import { redactBody, redactBodyStart, redactHeaders, redactStepResult, redactUrl } from './redaction.js';
import { presentThrown } from './thrown-error.js';

type Kind = RunAttempt['kind'];
type HeaderMap = Readonly<Record<string, readonly string[]>>;

const stepIdOf = (slot: number): number | null => (slot > ADVANCE_SLOT ? slot : null);

function presentBody(body: Uint8Array, bodyBytes: number) {
  const { encoding, data } = encodeBodyStart(body, LIMITS.maxKeptAttemptBodyBytes);
  return { body: data, bodyEncoding: encoding, bodyBytes };
}

function presentResponse(status: number | null, headers: HeaderMap, body: Uint8Array, bodyBytes: number, redact?: Redaction) {
  return { status, headers: redactHeaders(headers, redact), ...presentBody(redactBody(body, redact), bodyBytes) };
}

const NO_BODY: PresentedBody = { body: '', bodyEncoding: 'utf8', rebuilt: false };
const UNKNOWN_BODY: PresentedBody = { body: null, bodyEncoding: 'utf8', rebuilt: false };

function presentStoredBody({ data, encoding }: EncodedBody, redact: Redaction | undefined): PresentedBody {
  const beginning = encodeBodyStart(redactBodyStart(Buffer.from(data, encoding), redact));
  return { body: beginning.data, bodyEncoding: beginning.encoding, rebuilt: false };
}

/** Presents the request and the response of an attempt. `substituteBody` is shown if the request body was not stored. */
function presentExchange(
  { startedAt, durationMs, request, response }: StoredExchange,
  kind: Kind,
  redact: Redaction | undefined,
  substituteBody: PresentedBody,
): Pick<RunAttempt, 'startedAt' | 'durationMs' | 'request' | 'response'> {
  const { method, url, headers, bodyBytes, body } = request;
  return {
    startedAt,
    durationMs,
    request: {
      method,
      // The URL of a call can depend on the input, so it may be redacted. Other URLs are part of the run.
      url: kind === 'call' ? redactUrl(url, redact) : url,
      headers: redactHeaders(headers, redact),
      bodyBytes,
      ...(body ? presentStoredBody(body, redact) : bodyBytes === 0 ? NO_BODY : substituteBody),
    },
    response: response && {
      ...presentResponse(
        response.status,
        response.headers,
        Buffer.from(response.body.data, response.body.encoding),
        response.bodyBytes,
        redact,
      ),
    },
  };
}

const UNKNOWN_EXCHANGE = { startedAt: null, durationMs: null, request: null, response: null } as const;

/** Data from which the attempts of a run are presented. */
export interface AttemptSource {
  readonly run: RunRecord;
  /** Input of the run, or null if it was removed. */
  readonly payload: RunPayload | null;
  /** First steps of the journal. */
  readonly head: readonly ListedStep[];
  readonly tasks: readonly Task[];
  /** Steps in recorded order. Long results are omitted. */
  steps(): AsyncIterable<readonly ListedStep[]>;
  /** Failed attempts, oldest first, with their exchanges. */
  attempts(): AsyncIterable<readonly FailedAttempt[]>;
  /** Returns a step, with its result if `withFullResult` is set. Otherwise a long result is omitted. */
  findStep(stepId: number, withFullResult: boolean): Promise<ListedStep | null>;
}

export interface AttemptPage {
  readonly attempts: RunAttempt[];
  /** Number of entries to skip for the next page; null at the end. */
  readonly next: number | null;
}

/** Selects attempts. If both fields are present, both must match. */
export interface AttemptFilter {
  readonly stepId?: number | undefined;
  readonly messageId?: string | undefined;
}

/** Entry of a page: a failed attempt, a step whose attempt succeeded, or a delivered message. */
type Entry =
  | { readonly kind: 'failed'; readonly at: number; readonly attempt: FailedAttempt }
  | { readonly kind: 'step'; readonly at: number; readonly step: ListedStep; readonly call: CallOutcome | null }
  | { readonly kind: 'message'; readonly at: number };

/** Reads items one at a time from parts that are read on demand. */
class ItemReader<Item> {
  private readonly parts: AsyncIterator<readonly Item[]>;
  private part: readonly Item[] = [];
  private index = 0;

  constructor(parts: AsyncIterable<readonly Item[]>) {
    this.parts = parts[Symbol.asyncIterator]();
  }

  async peek(): Promise<Item | null> {
    while (this.index >= this.part.length) {
      const next = await this.parts.next();
      if (next.done) return null;
      [this.part, this.index] = [next.value, 0];
    }
    return this.part[this.index] ?? null;
  }

  skip(): void {
    this.index++;
  }
}

/** Returns how many of the sorted times are at or before `at`. */
function countUntil(times: readonly number[], at: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Presents the attempts of one run, from failed attempts and recorded steps that are read on demand. */
class AttemptPresenter {
  private readonly source: AttemptSource;
  private readonly redact: Redaction | undefined;
  /** Number of failed attempts so far, by message. */
  private readonly failedCounts = new Map<string, number>();
  /** Last failed exchange, by message. All attempts of a call send the same request. */
  private readonly failedExchanges = new Map<string, StoredExchange>();
  /** Times when the steps so far were recorded, in Unix ms. */
  private readonly recordedTimes: number[] = [];
  private readonly stepsBySlot = new Map<number, Promise<ListedStep | null>>();
  private readonly rebuiltRequests: RebuiltRequests | null;
  /** Size of the responses so far. */
  private responseBytes = 0;

  constructor(source: AttemptSource) {
    this.source = source;
    const { run, head, payload } = source;
    this.redact = run.settings.redact;
    const countStepsAfterHead = (at: number, index: number): number =>
      Math.max(0, Math.min(countUntil(this.recordedTimes, at), index) - head.length);
    this.rebuiltRequests = payload && new RebuiltRequests({ run, head, countStepsAfterHead }, payload);
  }

  /** Skips the first `skip` entries and returns the following ones until the page is full. */
  async page({ stepId, messageId }: AttemptFilter, skip: number, limit: number): Promise<AttemptPage> {
    const attempts: RunAttempt[] = [];
    let matchCount = 0;
    for await (const entry of this.entries()) {
      if (stepId !== undefined && stepIdOfEntry(entry) !== stepId) continue;
      if (messageId !== undefined && this.messageIdOf(entry) !== messageId) continue;
      if (matchCount++ < skip) continue;
      if (attempts.length >= limit || this.responseBytes >= LIMITS.maxPageBytes)
        return { attempts, next: skip + attempts.length };
      attempts.push(await this.present(entry));
    }
    return { attempts, next: null };
  }

  /** Returns entries in the order in which they ended, oldest first. */
  private async *entries(): AsyncGenerator<Entry> {
    const [attempts, steps] = [new ItemReader(this.source.attempts()), new ItemReader(this.source.steps())];
    for (;;) {
      const [attempt, step] = [await attempts.peek(), await steps.peek()];
      if (attempt && (!step || attempt.at <= step.completedAt)) {
        attempts.skip();
        yield { kind: 'failed', at: attempt.at, attempt };
        this.recordFailure(attempt);
      } else if (step) {
        steps.skip();
        this.recordedTimes.push(step.completedAt);
        const entry = await this.entryOf(step);
        if (entry) yield entry;
      } else break;
    }
    const { settings, status, completedAt: at } = this.source.run;
    if (settings.message && status === 'succeeded' && at !== null) yield { kind: 'message', at };
  }

  private messageIdOf(entry: Entry): string {
    if (entry.kind === 'failed') return entry.attempt.messageId;
    return entry.kind === 'step' ? entry.step.messageId : this.source.run.workflowRunId;
  }

  private recordFailure({ messageId, exchange }: FailedAttempt): void {
    this.failedCounts.set(messageId, (this.failedCounts.get(messageId) ?? 0) + 1);
    if (exchange) this.failedExchanges.set(messageId, exchange);
  }

  /**
   * Returns the entry of the successful attempt of a step. Returns null for steps that send no request, and for calls whose
   * attempts all failed.
   */
  private async entryOf(step: ListedStep): Promise<Entry | null> {
    const { type, completedAt: at } = step;
    if (type === 'Run') return { kind: 'step', at, step, call: null };
    if (type !== 'Call') return null;
    const call = callOutcomeOf(await this.withFullResult(step));
    return call !== null && call.status >= 200 && call.status < 300 ? { kind: 'step', at, step, call } : null;
  }

  private async withFullResult(step: ListedStep): Promise<ListedStep> {
    return step.outLeftOut === undefined ? step : ((await this.source.findStep(step.stepId, true)) ?? step);
  }

  /** Returns the recorded step of a failed attempt. */
  private stepAt(slot: number): Promise<ListedStep | null> {
    const cachedStep = this.stepsBySlot.get(slot);
    if (cachedStep) return cachedStep;
    const step = slot > ADVANCE_SLOT ? this.source.findStep(slot, false) : Promise.resolve(null);
    this.stepsBySlot.set(slot, step);
    return step;
  }

  private async present(entry: Entry): Promise<RunAttempt> {
    switch (entry.kind) {
      case 'failed':
        return this.presentFailedAttempt(entry.attempt);
      case 'step':
        return this.presentStep(entry.step, entry.call);
      case 'message': {
        const { settings, workflowRunId } = this.source.run;
        return {
          ...this.successfulAttempt('message', workflowRunId, entry.at),
          request:
            this.rebuiltRequests?.fullRequest(settings.message?.method ?? 'POST', this.rebuiltRequests.bodyOfMessage()) ?? null,
        };
      }
    }
  }

  private kindOf({ slot }: FailedAttempt, recordedStep: ListedStep | null): Kind {
    if (slot === CALLBACK_SLOT) return 'callback';
    if (slot === ADVANCE_SLOT) return this.source.run.settings.message ? 'message' : 'workflow';
    const openTask = this.source.tasks.find((task) => task.slot === slot);
    return openTask?.kind === 'call' || recordedStep?.type === 'Call' ? 'call' : 'step';
  }

  private async presentFailedAttempt(attempt: FailedAttempt): Promise<RunAttempt> {
    const { slot, name, messageId, retried, at, cause, message, retryAt, exchange } = attempt;
    const recordedStep = await this.stepAt(slot);
    const kind = this.kindOf(attempt, recordedStep);
    return {
      kind,
      stepId: stepIdOf(slot),
      stepName: name ?? recordedStep?.name ?? null,
      messageId,
      retried,
      at,
      outcome: 'failed',
      cause,
      message,
      ...optional('thrown', presentThrown(attempt.thrown)),
      ...(exchange
        ? presentExchange(exchange, kind, this.redact, this.rebuiltBody(kind, exchange.startedAt, recordedStep?.index))
        : UNKNOWN_EXCHANGE),
      retryAt,
    };
  }

  /** Returns the reconstructed body of a request whose body was not stored. */
  private rebuiltBody(kind: Kind, at: number, index: number | undefined): PresentedBody {
    if (kind === 'workflow' || kind === 'step') return this.rebuiltRequests?.bodyOfStep(at, index) ?? UNKNOWN_BODY;
    return (kind === 'message' ? this.rebuiltRequests?.bodyOfMessage() : undefined) ?? UNKNOWN_BODY;
  }

  private async presentStep(step: ListedStep, call: CallOutcome | null): Promise<RunAttempt> {
    const { index, stepId, name, messageId, createdAt, startedAt, completedAt: at } = step;
    return {
      ...this.successfulAttempt(call ? 'call' : 'step', messageId, at),
      ...(startedAt === undefined ? {} : { startedAt, durationMs: at - startedAt }),
      stepId,
      stepName: name,
      ...(call
        ? this.callRequest(step)
        : { request: this.rebuiltRequests?.fullRequest('POST', this.rebuiltRequests.bodyOfStep(createdAt, index)) ?? null }),
      response: call ? this.callResponse(call) : this.stepResponse(await this.withFullResult(step)),
    };
  }

  /**
   * Returns the stored request of a call, or the identical request of an earlier failed attempt. The request is null if an earlier
   * version of Everstep stored neither.
   */
  private callRequest({ messageId, sent: storedExchange }: RecordedStep): Partial<RunAttempt> {
    if (storedExchange) {
      const { startedAt, durationMs, request } = presentExchange(
        { ...storedExchange, response: null },
        'call',
        this.redact,
        UNKNOWN_BODY,
      );
      return { startedAt, durationMs, request };
    }
    const failedExchange = this.failedExchanges.get(messageId);
    const request = failedExchange ? presentExchange(failedExchange, 'call', this.redact, UNKNOWN_BODY).request : null;
    return { request };
  }

  private successfulAttempt(kind: Kind, messageId: string, at: number): RunAttempt {
    const retried = this.failedCounts.get(messageId) ?? 0;
    const commonFields = { kind, stepId: null, stepName: null, messageId, retried, at } as const;
    return { ...commonFields, ...UNKNOWN_EXCHANGE, outcome: 'succeeded', cause: null, message: null, retryAt: null };
  }

  private stepResponse({ type, out }: RecordedStep): RunAttempt['response'] {
    const text = out === null ? '' : redactStepResult(type, out, this.redact);
    const bodyBytes = Buffer.byteLength(out ?? '');
    this.responseBytes += bodyBytes;
    return { status: null, headers: {}, ...presentBody(Buffer.from(text), bodyBytes) };
  }

  private callResponse({ status, headers, body }: CallOutcome): RunAttempt['response'] {
    const bytes = Buffer.from(body.data, body.encoding);
    this.responseBytes += bytes.byteLength;
    return presentResponse(status, headers, bytes, bytes.byteLength, this.redact);
  }
}

function stepIdOfEntry(entry: Entry): number | null {
  switch (entry.kind) {
    case 'failed':
      return stepIdOf(entry.attempt.slot);
    case 'step':
      return entry.step.stepId;
    case 'message':
      return null;
  }
}

/** Parses the recorded outcome of a call. Returns null for invalid data, which an endpoint may have sent. */
function callOutcomeOf({ out }: RecordedStep): CallOutcome | null {
  try {
    const outcome = parseJson(out ?? 'null') as Partial<CallOutcome> | null;
    const { status, headers, body } = outcome ?? {};
    const isComplete = typeof status === 'number' && typeof headers === 'object' && typeof body?.data === 'string';
    return isComplete && (body.encoding === 'utf8' || body.encoding === 'base64') ? (outcome as CallOutcome) : null;
  } catch {
    return null;
  }
}

/** Returns a page of the attempts that match the filter, oldest first. A page with long results ends early. */
export const presentAttempts = (
  source: AttemptSource,
  filter: AttemptFilter,
  skip: number,
  limit: number,
): Promise<AttemptPage> => new AttemptPresenter(source).page(filter, skip, limit);
