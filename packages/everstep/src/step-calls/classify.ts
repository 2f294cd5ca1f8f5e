/** What an endpoint's answer means: a reply, or a failed attempt and whether trying again can help. */
import type { IncomingHttpHeaders } from 'node:http';
import { NON_RETRYABLE_STATUS, PROTOCOL_HEADER, PROTOCOL_VERSION } from '@everstep/sdk/protocol';
import { describeRedirect, headerOf, keptOf, retryAdviceOf, snippetOf } from '../answers/http-advice.js';
import type { DeliveryFailure } from '../engine/run.js';
import type { StepAnswer, StepCall } from '../ports/step-caller.js';
import type { HttpAnswer } from './exchange.js';
import { parseReply } from './parse-reply.js';

const BACKOFF = { kind: 'backoff' } as const;
const NEVER = { kind: 'never' } as const;

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

/** An answer that could not be taken, or none at all. The same for a step call and for a message. */
export type FailedAnswer = Extract<StepAnswer, { readonly kind: 'failure' }>;

/** Every header with all its values. One named `__proto__` is left out: it would be no property, but change the object. */
export function valuesOf(headers: IncomingHttpHeaders): Record<string, readonly string[]> {
  const values: Record<string, readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && name !== '__proto__') values[name] = typeof value === 'string' ? [value] : value;
  }
  return values;
}

function describeBody({ headers, body }: HttpAnswer, discreet: boolean): string {
  if (discreet) return snippetOf(body, discreet);
  const encoding = headerOf(headers, 'content-encoding');
  const encoded = encoding && encoding !== 'identity' ? `, content-encoding ${encoding} (which was not asked for)` : '';
  return `content-type ${headerOf(headers, 'content-type') ?? 'missing'}${encoded} and ${snippetOf(body, discreet)}`;
}

export interface ClassifyContext {
  readonly call: StepCall;
  readonly prefix: string;
  /** Unix ms. */
  readonly now: number;
}

function httpFailure(
  answer: HttpAnswer,
  { call: { discreet }, now }: ClassifyContext,
): Pick<DeliveryFailure, 'message' | 'retry'> {
  const { status, headers, body } = answer;
  if (status >= 300 && status < 400) {
    return {
      message: `the endpoint answered ${describeRedirect(status, headers, discreet)}; redirects are not followed: trigger the run with the final URL`,
      retry: BACKOFF,
    };
  }
  const words = STATUS_WORDS[status];
  return {
    message: `the endpoint answered ${status}${words ? `: ${words}` : ''} (${snippetOf(body, discreet)})`,
    retry: retryAdviceOf(status, headers, now),
  };
}

/** The meaning of a complete answer. */
export function classifyAnswer(answer: HttpAnswer, context: ClassifyContext): StepAnswer {
  const { status, headers, body } = answer;
  const { discreet } = context.call;
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
    problem = discreet ? parsed.words : parsed.problem;
  }
  if (problem !== undefined && (ok || status === NON_RETRYABLE_STATUS)) {
    return failure(
      'not-protocol',
      `the endpoint answered ${status} with ${header}: ${version}, but not with a reply of that protocol: ${problem} (${describeBody(answer, discreet)}); is the SDK at the endpoint one that this service knows?`,
      NEVER,
    );
  }
  if (ok) {
    return failure(
      'not-protocol',
      `the endpoint answered ${status} without the header ${header}, so it is no workflow endpoint: ${describeBody(answer, discreet)}; serve the workflow with the SDK at exactly this URL, and let nothing in front of it answer in its place`,
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
): FailedAnswer {
  return {
    kind: 'failure',
    failure: { cause, message, retry, status: null, responseHeaders: {}, responseBody: new Uint8Array(0) },
  };
}

/** An answer that came, but cannot be taken: too long, or not to be decoded. Another may be. */
export function untakenAnswer({ status, headers, body }: HttpAnswer, message: string): FailedAnswer {
  return {
    kind: 'failure',
    failure: { cause: 'http', message, retry: BACKOFF, status, responseHeaders: valuesOf(headers), responseBody: keptOf(body) },
  };
}

/** An answer that was cut off at the limit, with the name of that. */
export function answerTooLong(answer: HttpAnswer, maxBytes: number, limit: string): FailedAnswer {
  return untakenAnswer(answer, `the endpoint answered ${answer.status} with more than ${maxBytes} bytes (${limit})`);
}
