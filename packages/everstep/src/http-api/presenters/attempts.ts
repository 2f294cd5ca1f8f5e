/**
 * Presents the attempts of a run: failed attempts as they were stored, and successful attempts as reconstructed from the
 * journal.
 */
import { type CallOutcome, type EncodedBody, parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { RunAttempt } from '../../contract/attempts.js';
import { beginningOf, type KeptExchange } from '../../engine/runs/exchanges.js';
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
import { RebuiltRequests, type ShownBody } from './rebuilt-request.js';
import { shownBeginning, shownBody, shownHeaders, shownOut, shownUrl } from './redaction.js';
import { presentThrown } from './thrown-error.js';

type Kind = RunAttempt['kind'];
type HeaderMap = Readonly<Record<string, readonly string[]>>;

const stepIdOf = (slot: number): number | null => (slot > ADVANCE_SLOT ? slot : null);

function presentBody(body: Uint8Array, bodyBytes: number) {
  const { encoding, data } = beginningOf(body, LIMITS.maxKeptAttemptBodyBytes);
  return { body: data, bodyEncoding: encoding, bodyBytes };
}

function presentResponse(status: number | null, headers: HeaderMap, body: Uint8Array, bodyBytes: number, redact?: Redaction) {
  return { status, headers: shownHeaders(headers, redact), ...presentBody(shownBody(body, redact), bodyBytes) };
}

const NO_BODY: ShownBody = { body: '', bodyEncoding: 'utf8', rebuilt: false };
const UNKNOWN_BODY: ShownBody = { body: null, bodyEncoding: 'utf8', rebuilt: false };

function presentStoredBody({ data, encoding }: EncodedBody, redact: Redaction | undefined): ShownBody {
  const beginning = beginningOf(shownBeginning(Buffer.from(data, encoding), redact));
  return { body: beginning.data, bodyEncoding: beginning.encoding, rebuilt: false };
}

function presentExchange(
  { startedAt, durationMs, request, response }: KeptExchange,
  kind: Kind,
  redact: Redaction | undefined,
  otherBody: ShownBody,
): Pick<RunAttempt, 'startedAt' | 'durationMs' | 'request' | 'response'> {
  const { method, url, headers, bodyBytes, body } = request;
  return {
    startedAt,
    durationMs,
    request: {
      method,
      // The URL of a call can depend on the input, so it may be redacted. Other URLs are part of the run.
      url: kind === 'call' ? shownUrl(url, redact) : url,
      headers: shownHeaders(headers, redact),
      bodyBytes,
      ...(body ? presentStoredBody(body, redact) : bodyBytes === 0 ? NO_BODY : otherBody),
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
  /** Null when it was removed. */
  readonly payload: RunPayload | null;
  /** Start of the journal. */
  readonly head: readonly ListedStep[];
  readonly tasks: readonly Task[];
  /** Steps in recorded order. Long results are omitted. */
  steps(): AsyncIterable<readonly ListedStep[]>;
  /** Failed attempts, oldest first, with their exchanges. */
  attempts(): AsyncIterable<readonly FailedAttempt[]>;
  /** Returns a step, with its result if `withWholeResult` is set. Otherwise a long result is omitted. */
  findStep(stepId: number, withWholeResult: boolean): Promise<ListedStep | null>;
}

export interface AttemptPage {
  readonly attempts: RunAttempt[];
  /** Number of entries to skip for the next page; null at the end. */
  readonly next: number | null;
}

/** All given filters must match. */
export interface AttemptFilter {
  readonly stepId?: number | undefined;
  readonly messageId?: string | undefined;
}

/** Entry of a page: a failed attempt, a step whose attempt succeeded, or a delivered message. */
type Entry =
  | { readonly kind: 'failed'; readonly at: number; readonly attempt: FailedAttempt }
  | { readonly kind: 'step'; readonly at: number; readonly step: ListedStep; readonly call: CallOutcome | null }
  | { readonly kind: 'message'; readonly at: number };

/** Iterates over items that are read in parts on demand. */
class Items<Item> {
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

class Attempts {
  private readonly source: AttemptSource;
  private readonly redact: Redaction | undefined;
  /** Number of failed attempts so far, by message. */
  private readonly failed = new Map<string, number>();
  /** Request of the last failed attempt of a call, by message. All attempts of a call send the same request. */
  private readonly sent = new Map<string, KeptExchange>();
  /** Times when the steps so far were recorded, in Unix ms. */
  private readonly recordedAt: number[] = [];
  private readonly steps = new Map<number, Promise<ListedStep | null>>();
  private readonly rebuilt: RebuiltRequests | null;
  private bytes = 0;

  constructor(source: AttemptSource) {
    this.source = source;
    const { run, head, payload } = source;
    this.redact = run.settings.redact;
    const recordedBehind = (at: number, index: number): number =>
      Math.max(0, Math.min(countUntil(this.recordedAt, at), index) - head.length);
    this.rebuilt = payload && new RebuiltRequests({ run, head, recordedBehind }, payload);
  }

  /** Skips the first `skip` entries and returns the following ones until the page is full. */
  async page({ stepId, messageId }: AttemptFilter, skip: number, limit: number): Promise<AttemptPage> {
    const attempts: RunAttempt[] = [];
    let matchCount = 0;
    for await (const entry of this.entries()) {
      if (stepId !== undefined && stepIdOfEntry(entry) !== stepId) continue;
      if (messageId !== undefined && this.messageIdOf(entry) !== messageId) continue;
      if (matchCount++ < skip) continue;
      if (attempts.length >= limit || this.bytes >= LIMITS.maxPageBytes) return { attempts, next: skip + attempts.length };
      attempts.push(await this.present(entry));
    }
    return { attempts, next: null };
  }

  /** Returns entries in the order in which they ended, oldest first. */
  private async *entries(): AsyncGenerator<Entry> {
    const [attempts, steps] = [new Items(this.source.attempts()), new Items(this.source.steps())];
    for (;;) {
      const [attempt, step] = [await attempts.peek(), await steps.peek()];
      if (attempt && (!step || attempt.at <= step.completedAt)) {
        attempts.skip();
        yield { kind: 'failed', at: attempt.at, attempt };
        this.noteFailed(attempt);
      } else if (step) {
        steps.skip();
        this.recordedAt.push(step.completedAt);
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

  private noteFailed({ messageId, exchange }: FailedAttempt): void {
    this.failed.set(messageId, (this.failed.get(messageId) ?? 0) + 1);
    if (exchange) this.sent.set(messageId, exchange);
  }

  /**
   * Returns null for steps that made no call, and for calls without a successful response, because all of their attempts
   * failed.
   */
  private async entryOf(step: ListedStep): Promise<Entry | null> {
    const { type, completedAt: at } = step;
    if (type === 'Run') return { kind: 'step', at, step, call: null };
    if (type !== 'Call') return null;
    const call = callOutcomeOf(await this.withWholeResult(step));
    return call !== null && call.status >= 200 && call.status < 300 ? { kind: 'step', at, step, call } : null;
  }

  private async withWholeResult(step: ListedStep): Promise<ListedStep> {
    return step.outLeftOut === undefined ? step : ((await this.source.findStep(step.stepId, true)) ?? step);
  }

  /** Returns the recorded step of a failed attempt. */
  private stepAt(slot: number): Promise<ListedStep | null> {
    const cached = this.steps.get(slot);
    if (cached) return cached;
    const step = slot > ADVANCE_SLOT ? this.source.findStep(slot, false) : Promise.resolve(null);
    this.steps.set(slot, step);
    return step;
  }

  private async present(entry: Entry): Promise<RunAttempt> {
    switch (entry.kind) {
      case 'failed':
        return this.presentFailed(entry.attempt);
      case 'step':
        return this.presentStep(entry.step, entry.call);
      case 'message': {
        const { settings, workflowRunId } = this.source.run;
        return {
          ...this.succeeded('message', workflowRunId, entry.at),
          request: this.rebuilt?.fullRequest(settings.message?.method ?? 'POST', this.rebuilt.bodyOfMessage()) ?? null,
        };
      }
    }
  }

  private kindOf({ slot }: FailedAttempt, recorded: ListedStep | null): Kind {
    if (slot === CALLBACK_SLOT) return 'callback';
    if (slot === ADVANCE_SLOT) return this.source.run.settings.message ? 'message' : 'workflow';
    const openTask = this.source.tasks.find((task) => task.slot === slot);
    return openTask?.kind === 'call' || recorded?.type === 'Call' ? 'call' : 'step';
  }

  private async presentFailed(attempt: FailedAttempt): Promise<RunAttempt> {
    const { slot, name, messageId, retried, at, cause, message, retryAt, exchange } = attempt;
    const recorded = await this.stepAt(slot);
    const kind = this.kindOf(attempt, recorded);
    return {
      kind,
      stepId: stepIdOf(slot),
      stepName: name ?? recorded?.name ?? null,
      messageId,
      retried,
      at,
      outcome: 'failed',
      cause,
      message,
      ...optional('thrown', presentThrown(attempt.thrown)),
      ...(exchange
        ? presentExchange(exchange, kind, this.redact, this.otherBody(kind, exchange.startedAt, recorded?.index))
        : UNKNOWN_EXCHANGE),
      retryAt,
    };
  }

  /** Returns the reconstructed body of a request whose body was not stored. */
  private otherBody(kind: Kind, at: number, index: number | undefined): ShownBody {
    if (kind === 'workflow' || kind === 'step') return this.rebuilt?.bodyOfStep(at, index) ?? UNKNOWN_BODY;
    return (kind === 'message' ? this.rebuilt?.bodyOfMessage() : undefined) ?? UNKNOWN_BODY;
  }

  private async presentStep(step: ListedStep, call: CallOutcome | null): Promise<RunAttempt> {
    const { index, stepId, name, messageId, createdAt, startedAt, completedAt: at } = step;
    return {
      ...this.succeeded(call ? 'call' : 'step', messageId, at),
      ...(startedAt === undefined ? {} : { startedAt, durationMs: at - startedAt }),
      stepId,
      stepName: name,
      ...(call
        ? this.callRequest(step)
        : { request: this.rebuilt?.fullRequest('POST', this.rebuilt.bodyOfStep(createdAt, index)) ?? null }),
      response: call ? this.callResponse(call) : this.stepResponse(await this.withWholeResult(step)),
    };
  }

  /**
   * Returns the stored request, or the identical request of an earlier failed attempt. Null when an earlier version stored
   * neither.
   */
  private callRequest({ messageId, sent: sentByMessage }: RecordedStep): Partial<RunAttempt> {
    if (sentByMessage) {
      const { startedAt, durationMs, request } = presentExchange(
        { ...sentByMessage, response: null },
        'call',
        this.redact,
        UNKNOWN_BODY,
      );
      return { startedAt, durationMs, request };
    }
    const failed = this.sent.get(messageId);
    const request = failed ? presentExchange(failed, 'call', this.redact, UNKNOWN_BODY).request : null;
    return { request };
  }

  private succeeded(kind: Kind, messageId: string, at: number): RunAttempt {
    const retried = this.failed.get(messageId) ?? 0;
    const common = { kind, stepId: null, stepName: null, messageId, retried, at } as const;
    return { ...common, ...UNKNOWN_EXCHANGE, outcome: 'succeeded', cause: null, message: null, retryAt: null };
  }

  private stepResponse({ type, out }: RecordedStep): RunAttempt['response'] {
    const text = out === null ? '' : shownOut(type, out, this.redact);
    const bodyBytes = Buffer.byteLength(out ?? '');
    this.bytes += bodyBytes;
    return { status: null, headers: {}, ...presentBody(Buffer.from(text), bodyBytes) };
  }

  private callResponse({ status, headers, body }: CallOutcome): RunAttempt['response'] {
    const bytes = Buffer.from(body.data, body.encoding);
    this.bytes += bytes.byteLength;
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

/** Parses the recorded outcome of a call. Invalid data is possible, because it may come from an endpoint. */
function callOutcomeOf({ out }: RecordedStep): CallOutcome | null {
  try {
    const outcome = parseJson(out ?? 'null') as Partial<CallOutcome> | null;
    const { status, headers, body } = outcome ?? {};
    const isWhole = typeof status === 'number' && typeof headers === 'object' && typeof body?.data === 'string';
    return isWhole && (body.encoding === 'utf8' || body.encoding === 'base64') ? (outcome as CallOutcome) : null;
  } catch {
    return null;
  }
}

/** Returns a page of attempts, oldest first, of one step, of one message or of all. A page with long results ends early. */
export const presentAttempts = (
  source: AttemptSource,
  filter: AttemptFilter,
  skip: number,
  limit: number,
): Promise<AttemptPage> => new Attempts(source).page(filter, skip, limit);
