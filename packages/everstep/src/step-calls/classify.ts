/** What an endpoint's answer means: a reply, or a failed attempt and whether trying again can help. */
import type { IncomingHttpHeaders } from 'node:http';
import { NON_RETRYABLE_STATUS, PROTOCOL_HEADER, PROTOCOL_VERSION } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import type { DeliveryFailure } from '../engine/run.js';
import type { StepAnswer, StepCall } from '../ports/step-caller.js';
import type { HttpAnswer } from './exchange.js';
import { parseReply } from './parse-reply.js';

const BACKOFF = { kind: 'backoff' } as const;
const NEVER = { kind: 'never' } as const;
const SNIPPET_LENGTH = 100;
const MAX_SHOWN_HEADER_LENGTH = 300;

const STATUS_WORDS: Readonly<Record<number, string>> = {
  400: 'the request was refused as malformed by something other than a workflow endpoint; is the workflow URL right?',
  401: 'something in front of the workflow asks for credentials; send them as Forward-Authorization',
  403: 'something in front of the workflow forbids the request; is it reachable from outside?',
  404: 'is the workflow URL right?',
  405: 'the URL exists but does not take POST; is the workflow URL right?',
  410: 'the workflow is gone; is the workflow URL right?',
  413: 'something in front of the workflow refuses a body of this size',
  415: 'the URL does not take JSON; is the workflow URL right?',
  429: 'the endpoint is asked too often',
  500: 'the endpoint failed before the workflow could answer',
  502: 'a gateway in front of the endpoint could not reach it',
  503: 'the endpoint is not available',
  504: 'a gateway in front of the endpoint gave up waiting for it',
};

function valuesOf(headers: IncomingHttpHeaders): Record<string, readonly string[]> {
  const values: Record<string, readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) values[name] = typeof value === 'string' ? [value] : value;
  }
  return values;
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  const first = typeof value === 'string' ? value : value?.[0];
  return first?.slice(0, MAX_SHOWN_HEADER_LENGTH);
}

/** The part of a body that is kept; a copy when it would keep a longer one alive. */
function keptOf(body: Buffer): Buffer {
  return body.length <= LIMITS.maxKeptResponseBytes ? body : Buffer.from(body.subarray(0, LIMITS.maxKeptResponseBytes));
}

/** The first characters of a body on one line. */
function snippet(body: Buffer): string {
  // Four bytes are the most that a character takes.
  const text = body
    .toString('utf8', 0, SNIPPET_LENGTH * 4)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  if (text === '') return 'an empty body';
  const characters = [...text];
  return `a body that begins with "${characters.slice(0, SNIPPET_LENGTH).join('')}"`;
}

function describeBody({ headers, body }: HttpAnswer): string {
  const encoding = headerOf(headers, 'content-encoding');
  const encoded = encoding && encoding !== 'identity' ? `, content-encoding ${encoding} (which was not asked for)` : '';
  return `content-type ${headerOf(headers, 'content-type') ?? 'missing'}${encoded} and ${snippet(body)}`;
}

/** Delay that a Retry-After header asks for (seconds, or an HTTP date), bounded; undefined when it is absent or unreadable. */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  const text = value?.trim();
  if (text === undefined || text === '') return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) - now : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(LIMITS.maxRetryDelayMs, Math.max(0, ms));
}

export interface ClassifyContext {
  readonly call: StepCall;
  readonly prefix: string;
  /** Unix ms. */
  readonly now: number;
}

function httpFailure(answer: HttpAnswer, { prefix, now }: ClassifyContext): Pick<DeliveryFailure, 'message' | 'retry'> {
  const { status, headers, body } = answer;
  if (status >= 300 && status < 400) {
    const location = headerOf(headers, 'location');
    const where = location === undefined ? 'without a Location' : `to ${location}`;
    return {
      message: `the endpoint answered with a redirect (${status}) ${where}; redirects are not followed: trigger the run with the final URL`,
      retry: BACKOFF,
    };
  }
  const words = STATUS_WORDS[status];
  const message = `the endpoint answered ${status}${words ? `: ${words}` : ''} (${snippet(body)})`;
  if (status === NON_RETRYABLE_STATUS) {
    const flag = headerOf(headers, `${prefix}NonRetryable-Error`) ?? headerOf(headers, 'NonRetryable-Error');
    return { message, retry: flag?.toLowerCase() === 'true' ? NEVER : BACKOFF };
  }
  const delayMs = status === 429 || status === 503 ? retryAfterMs(headerOf(headers, 'retry-after'), now) : undefined;
  return { message, retry: delayMs === undefined ? BACKOFF : { kind: 'after', delayMs } };
}

/** The meaning of a complete answer. */
export function classifyAnswer(answer: HttpAnswer, context: ClassifyContext): StepAnswer {
  const { status, headers, body } = answer;
  const envelope = { status, responseHeaders: valuesOf(headers), responseBody: keptOf(body) };
  const failure = (cause: DeliveryFailure['cause'], message: string, retry: DeliveryFailure['retry']): StepAnswer => ({
    kind: 'failure',
    failure: { cause, message, retry, ...envelope },
  });
  const header = context.prefix + PROTOCOL_HEADER;
  const version = headerOf(headers, header);
  const ok = status >= 200 && status < 300;

  if (version !== undefined && version !== String(PROTOCOL_VERSION)) {
    const older = Number(version) < PROTOCOL_VERSION;
    return failure(
      'refused',
      `the endpoint speaks version ${version} of the step protocol and this service version ${PROTOCOL_VERSION}: upgrade ${older ? 'the SDK at the endpoint' : 'the service'}`,
      NEVER,
    );
  }
  let problem: string | undefined;
  if (version !== undefined) {
    const parsed = parseReply(body.toString('utf8'), context.call.request, context.now);
    if (parsed.ok) return { kind: 'reply', reply: parsed.reply, ...envelope };
    problem = parsed.problem;
  }
  if (problem !== undefined && (ok || status === NON_RETRYABLE_STATUS)) {
    return failure(
      'not-protocol',
      `the endpoint answered ${status} with ${header}: ${version}, but not with a reply of that protocol: ${problem} (${describeBody(answer)}); is the SDK at the endpoint one that this service knows?`,
      NEVER,
    );
  }
  if (ok) {
    return failure(
      'not-protocol',
      `the endpoint answered ${status} without the header ${header}, so it is no workflow endpoint: ${describeBody(answer)}; serve the workflow with the SDK at exactly this URL, and let nothing in front of it answer in its place`,
      NEVER,
    );
  }
  const { message, retry } = httpFailure(answer, context);
  return failure('http', problem === undefined ? message : `${message}; it names the step protocol, but ${problem}`, retry);
}

/** A failure for which there is no complete answer. */
export function failureWithoutAnswer(
  cause: DeliveryFailure['cause'],
  message: string,
  retry: DeliveryFailure['retry'] = BACKOFF,
): StepAnswer {
  return {
    kind: 'failure',
    failure: { cause, message, retry, status: null, responseHeaders: {}, responseBody: new Uint8Array(0) },
  };
}

/** An answer that was cut off at the limit. */
export function answerTooLong({ status, headers, body }: HttpAnswer): StepAnswer {
  const message = `the endpoint answered ${status} with more than ${LIMITS.maxReplyBytes} bytes (maxReplyBytes)`;
  return {
    kind: 'failure',
    failure: { cause: 'http', message, retry: BACKOFF, status, responseHeaders: valuesOf(headers), responseBody: keptOf(body) },
  };
}
