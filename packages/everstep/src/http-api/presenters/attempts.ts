/**
 * The attempts of a run: those that failed as they were kept, and those that
 * succeeded as the journal tells of them.
 */
import { type CallOutcome, type EncodedBody, parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { RunAttempt } from '../../contract/attempts.js';
import { beginningOf, type KeptExchange } from '../../engine/exchanges.js';
import {
  ADVANCE_SLOT,
  CALLBACK_SLOT,
  type FailedAttempt,
  type RecordedStep,
  type Redaction,
  type RunPayload,
  type Task,
} from '../../engine/run.js';
import type { ListedStep, RunRecord } from '../../ports/store.js';
import { RebuiltRequests, type ShownBody } from './rebuilt-request.js';
import { shownBeginning, shownBody, shownHeaders, shownOut, shownUrl } from './redaction.js';

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

function keptBody({ data, encoding }: EncodedBody, redact: Redaction | undefined): ShownBody {
  const shown = beginningOf(shownBeginning(Buffer.from(data, encoding), redact));
  return { body: shown.data, bodyEncoding: shown.encoding, rebuilt: false };
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
      // What a step calls may be made of the input; the others are shown with the run.
      url: kind === 'call' ? shownUrl(url, redact) : url,
      headers: shownHeaders(headers, redact),
      bodyBytes,
      ...(body ? keptBody(body, redact) : bodyBytes === 0 ? NO_BODY : otherBody),
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

/** What the attempts of a run are made of. */
export interface AttemptSource {
  readonly run: RunRecord;
  /** Null when it was removed. */
  readonly payload: RunPayload | null;
  /** The beginning of the journal. */
  readonly head: readonly ListedStep[];
  readonly tasks: readonly Task[];
  /** In recorded order; long results are left out. */
  steps(): AsyncIterable<readonly ListedStep[]>;
  /** Oldest first, with their exchanges. */
  attempts(): AsyncIterable<readonly FailedAttempt[]>;
  /** Without its result where that is long, or with it. */
  findStep(stepId: number, whole: boolean): Promise<ListedStep | null>;
}

export interface AttemptPage {
  readonly attempts: RunAttempt[];
  /** How many to leave out for the next page; null at the end. */
  readonly next: number | null;
}

/** What a page shows: a failed attempt, a step whose attempt succeeded, or the message that arrived. */
type Entry =
  | { readonly kind: 'failed'; readonly at: number; readonly attempt: FailedAttempt }
  | { readonly kind: 'step'; readonly at: number; readonly step: ListedStep; readonly call: CallOutcome | null }
  | { readonly kind: 'message'; readonly at: number };

/** One after the other, each when it is asked for. */
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

/** How many of the times, which are in order, are not after this one. */
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
  /** How many failed so far, by the message. */
  private readonly failed = new Map<string, number>();
  /** What the last failed attempt of a call sent, by the message: each attempt sends the same. */
  private readonly sent = new Map<string, KeptExchange>();
  /** When the steps so far were recorded, Unix ms. */
  private readonly recordedAt: number[] = [];
  private readonly found = new Map<number, Promise<ListedStep | null>>();
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

  /** Entries behind the first `skip` ones until the page is full. */
  async page(stepId: number | undefined, skip: number, limit: number): Promise<AttemptPage> {
    const attempts: RunAttempt[] = [];
    let seen = 0;
    for await (const entry of this.entries()) {
      if (stepId !== undefined && stepIdOfEntry(entry) !== stepId) continue;
      if (seen++ < skip) continue;
      if (attempts.length >= limit || this.bytes >= LIMITS.maxPageBytes) return { attempts, next: skip + attempts.length };
      attempts.push(await this.present(entry));
    }
    return { attempts, next: null };
  }

  /** By the time at which they ended, oldest first. */
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

  private noteFailed({ messageId, exchange }: FailedAttempt): void {
    this.failed.set(messageId, (this.failed.get(messageId) ?? 0) + 1);
    if (exchange) this.sent.set(messageId, exchange);
  }

  /** Null for what called nobody, and for a call that was answered with no success: its attempts failed, all of them. */
  private async entryOf(step: ListedStep): Promise<Entry | null> {
    const { type, completedAt: at } = step;
    if (type === 'Run') return { kind: 'step', at, step, call: null };
    if (type !== 'Call') return null;
    const call = callOutcomeOf(await this.whole(step));
    return call !== null && call.status >= 200 && call.status < 300 ? { kind: 'step', at, step, call } : null;
  }

  private async whole(step: ListedStep): Promise<ListedStep> {
    return step.outLeftOut === undefined ? step : ((await this.source.findStep(step.stepId, true)) ?? step);
  }

  /** The recorded step of a failed attempt. */
  private stepAt(slot: number): Promise<ListedStep | null> {
    const known = this.found.get(slot);
    if (known) return known;
    const found = slot > ADVANCE_SLOT ? this.source.findStep(slot, false) : Promise.resolve(null);
    this.found.set(slot, found);
    return found;
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
          request: this.rebuilt?.whole(settings.message?.method ?? 'POST', this.rebuilt.bodyOfMessage()) ?? null,
        };
      }
    }
  }

  private kindOf({ slot }: FailedAttempt, recorded: ListedStep | null): Kind {
    if (slot === CALLBACK_SLOT) return 'callback';
    if (slot === ADVANCE_SLOT) return this.source.run.settings.message ? 'message' : 'workflow';
    const open = this.source.tasks.find((task) => task.slot === slot);
    return open?.kind === 'call' || recorded?.type === 'Call' ? 'call' : 'step';
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
      ...(exchange
        ? presentExchange(exchange, kind, this.redact, this.otherBody(kind, exchange.startedAt, recorded?.index))
        : UNKNOWN_EXCHANGE),
      retryAt,
    };
  }

  /** Of a request whose body is not kept. */
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
        : { request: this.rebuilt?.whole('POST', this.rebuilt.bodyOfStep(createdAt, index)) ?? null }),
      response: call ? this.callResponse(call) : this.stepResponse(await this.whole(step)),
    };
  }

  /** What it sent itself, or what the attempts before it did, which is the same; null where versions before kept nothing. */
  private callRequest({ messageId, sent }: RecordedStep): Partial<RunAttempt> {
    if (sent) {
      const { startedAt, durationMs, request } = presentExchange({ ...sent, response: null }, 'call', this.redact, UNKNOWN_BODY);
      return { startedAt, durationMs, request };
    }
    const failed = this.sent.get(messageId);
    const request = failed ? presentExchange(failed, 'call', this.redact, UNKNOWN_BODY).request : null;
    return { request };
  }

  private succeeded(kind: Kind, messageId: string, at: number): RunAttempt {
    const retried = this.failed.get(messageId) ?? 0;
    const known = { kind, stepId: null, stepName: null, messageId, retried, at } as const;
    return { ...known, ...UNKNOWN_EXCHANGE, outcome: 'succeeded', cause: null, message: null, retryAt: null };
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

/** As the service recorded it; an endpoint may have said anything. */
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

/** A page of them, oldest first, of one step or of all. A page with long results ends early. */
export const presentAttempts = (
  source: AttemptSource,
  stepId: number | undefined,
  skip: number,
  limit: number,
): Promise<AttemptPage> => new Attempts(source).page(stepId, skip, limit);
