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
} from '../../engine/run.js';
import type { RunHistory } from '../../ports/store.js';
import { RebuiltRequests, type ShownBody } from './rebuilt-request.js';
import { shownBeginning, shownBody, shownHeaders, shownOut, shownUrl } from './redaction.js';

type Kind = RunAttempt['kind'];
type HeaderMap = Readonly<Record<string, readonly string[]>>;

/** An attempt that is not presented yet: of many, few are on a page. */
interface Entry {
  readonly at: number;
  readonly stepId: number | null;
  present(): RunAttempt;
}

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

class Attempts {
  private readonly history: RunHistory;
  private readonly recorded: ReadonlyMap<number, RecordedStep>;
  /** How many failed, by the message. */
  private readonly failed = new Map<string, number>();
  /** What the failed attempts of a call sent, by the message: each attempt sends the same. */
  private readonly sent = new Map<string, KeptExchange>();
  /** Null when the payload was removed. */
  private readonly rebuilt: RebuiltRequests | null;

  constructor(history: RunHistory, payload: RunPayload | null) {
    this.history = history;
    this.rebuilt = payload && new RebuiltRequests(history, payload);
    this.recorded = new Map(history.steps.map((step) => [step.stepId, step]));
    for (const { messageId, exchange } of history.attempts) {
      this.failed.set(messageId, (this.failed.get(messageId) ?? 0) + 1);
      if (exchange) this.sent.set(messageId, exchange);
    }
  }

  /** Oldest first. */
  entries(): readonly Entry[] {
    const { attempts, steps } = this.history;
    const entries = [
      ...attempts.map((attempt) => this.failedEntry(attempt)),
      ...steps.flatMap((step) => this.succeededEntry(step) ?? []),
      ...this.messageEntry(),
    ];
    return entries.sort((a, b) => a.at - b.at);
  }

  private kindOf({ slot }: FailedAttempt): Kind {
    if (slot === CALLBACK_SLOT) return 'callback';
    if (slot === ADVANCE_SLOT) return this.history.run.settings.message ? 'message' : 'workflow';
    const open = this.history.tasks.find((task) => task.slot === slot);
    return open?.kind === 'call' || this.recorded.get(slot)?.type === 'Call' ? 'call' : 'step';
  }

  private failedEntry(attempt: FailedAttempt): Entry {
    const { slot, name, messageId, retried, at, cause, message, retryAt, exchange } = attempt;
    const { redact } = this.history.run.settings;
    const kind = this.kindOf(attempt);
    return {
      at,
      stepId: stepIdOf(slot),
      present: () => ({
        kind,
        stepId: stepIdOf(slot),
        stepName: name ?? this.recorded.get(slot)?.name ?? null,
        messageId,
        retried,
        at,
        outcome: 'failed',
        cause,
        message,
        ...(exchange
          ? presentExchange(exchange, kind, redact, this.otherBody(kind, exchange.startedAt, this.recorded.get(slot)?.index))
          : UNKNOWN_EXCHANGE),
        retryAt,
      }),
    };
  }

  /** Of a request whose body is not kept. */
  private otherBody(kind: Kind, at: number, index: number | undefined): ShownBody {
    if (kind === 'workflow' || kind === 'step') return this.rebuilt?.bodyOfStep(at, index) ?? UNKNOWN_BODY;
    return (kind === 'message' ? this.rebuilt?.bodyOfMessage() : undefined) ?? UNKNOWN_BODY;
  }

  /** Null for what called nobody, and for a call that was answered with no success: its attempts failed, all of them. */
  private succeededEntry(step: RecordedStep): Entry | null {
    const { index, type, stepId, name, messageId, createdAt, startedAt, completedAt: at } = step;
    if (type !== 'Run' && type !== 'Call') return null;
    const call = type === 'Call' ? callOutcomeOf(step) : null;
    if (type === 'Call' && (call === null || call.status < 200 || call.status >= 300)) return null;
    return {
      at,
      stepId,
      present: () => ({
        ...this.succeeded(type === 'Call' ? 'call' : 'step', messageId, at),
        ...(startedAt === undefined ? {} : { startedAt, durationMs: at - startedAt }),
        stepId,
        stepName: name,
        ...(call
          ? this.callRequest(step)
          : { request: this.rebuilt?.whole('POST', this.rebuilt.bodyOfStep(createdAt, index)) ?? null }),
        response: call ? this.callResponse(call) : this.stepResponse(step),
      }),
    };
  }

  /** What it sent itself, or what the attempts before it did, which is the same; null where versions before kept nothing. */
  private callRequest({ messageId, sent }: RecordedStep): Partial<RunAttempt> {
    const { redact } = this.history.run.settings;
    if (sent) {
      const { startedAt, durationMs, request } = presentExchange({ ...sent, response: null }, 'call', redact, UNKNOWN_BODY);
      return { startedAt, durationMs, request };
    }
    const failed = this.sent.get(messageId);
    const request = failed ? presentExchange(failed, 'call', redact, UNKNOWN_BODY).request : null;
    return { request };
  }

  private messageEntry(): readonly Entry[] {
    const { run } = this.history;
    const at = run.completedAt;
    if (!run.settings.message || run.status !== 'succeeded' || at === null) return [];
    const { method } = run.settings.message;
    const present = () => ({
      ...this.succeeded('message', run.workflowRunId, at),
      request: this.rebuilt?.whole(method, this.rebuilt.bodyOfMessage()) ?? null,
    });
    return [{ at, stepId: null, present }];
  }

  private succeeded(kind: Kind, messageId: string, at: number): RunAttempt {
    const retried = this.failed.get(messageId) ?? 0;
    const known = { kind, stepId: null, stepName: null, messageId, retried, at } as const;
    return { ...known, ...UNKNOWN_EXCHANGE, outcome: 'succeeded', cause: null, message: null, retryAt: null };
  }

  private stepResponse({ type, out }: RecordedStep): RunAttempt['response'] {
    const text = out === null ? '' : shownOut(type, out, this.history.run.settings.redact);
    return { status: null, headers: {}, ...presentBody(Buffer.from(text), Buffer.byteLength(out ?? '')) };
  }

  private callResponse({ status, headers, body }: CallOutcome): RunAttempt['response'] {
    const bytes = Buffer.from(body.data, body.encoding);
    return presentResponse(status, headers, bytes, bytes.byteLength, this.history.run.settings.redact);
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

export interface AttemptPage {
  readonly attempts: RunAttempt[];
  /** How many to leave out for the next page; null at the end. */
  readonly next: number | null;
}

/** A page of them, oldest first, of one step or of all. The history has to have the exchanges. */
export function presentAttempts(
  history: RunHistory,
  payload: RunPayload | null,
  stepId: number | undefined,
  skip: number,
  limit: number,
): AttemptPage {
  const all = new Attempts(history, payload).entries();
  const wanted = stepId === undefined ? all : all.filter((entry) => entry.stepId === stepId);
  const attempts = wanted.slice(skip, skip + limit).map((entry) => entry.present());
  return { attempts, next: skip + limit < wanted.length ? skip + limit : null };
}
