/** What an HTTP answer of a workflow endpoint says when it is none of the step protocol, whichever of those that is. */
import type { DeliveryFailure } from '../engine/run.js';
import { type AnswerHeaders, describeRedirect, headerOf, retryAdviceOf, snippetOf } from './http-advice.js';

const BACKOFF = { kind: 'backoff' } as const;

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

/** An answer of an endpoint, read whole. */
export interface EndpointAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
}

/** What the words of a failure may quote, and when it was. */
export interface FailureView {
  /** The run hides data: nothing of the answer is quoted. */
  readonly discreet: boolean;
  /** Unix ms. */
  readonly now: number;
}

/** Every header with all its values. One named `__proto__` is left out: it would be no property, but change the object. */
export function valuesOf(headers: AnswerHeaders): Record<string, readonly string[]> {
  const values: Record<string, readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && name !== '__proto__') values[name] = typeof value === 'string' ? [value] : value;
  }
  return values;
}

/** Its type, and how it begins. */
export function describeBody({ headers, body }: EndpointAnswer, discreet: boolean): string {
  if (discreet) return snippetOf(body, discreet);
  const encoding = headerOf(headers, 'content-encoding');
  const encoded = encoding && encoding !== 'identity' ? `, content-encoding ${encoding} (which was not asked for)` : '';
  return `content-type ${headerOf(headers, 'content-type') ?? 'missing'}${encoded} and ${snippetOf(body, discreet)}`;
}

/** An answer that is no success, and was not made by a workflow. */
export function endpointFailure(
  { status, headers, body }: EndpointAnswer,
  { discreet, now }: FailureView,
): Pick<DeliveryFailure, 'message' | 'retry'> {
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
