/** Interprets HTTP responses of a workflow endpoint that do not follow its step protocol, for any protocol. */
import type { DeliveryFailure } from '../engine/runs/run.js';
import { describeRedirect, headerOf, type ResponseHeaders, retryAdviceOf, snippetOf } from './retry-advice.js';

const BACKOFF = { kind: 'backoff' } as const;

const STATUS_HINTS: Readonly<Record<number, string>> = {
  400: 'something other than a workflow endpoint rejected the request as malformed; check the workflow URL',
  401: 'something in front of the workflow requires credentials; send them as Forward-Authorization',
  403: 'something in front of the workflow forbids the request; check that it is reachable from outside',
  404: 'check the workflow URL',
  405: 'the URL exists but does not accept POST; check the workflow URL',
  410: 'the workflow no longer exists at this URL; check the workflow URL',
  413: 'something in front of the workflow rejects a body of this size',
  415: 'the URL does not accept JSON; check the workflow URL',
  429: 'the endpoint receives too many requests',
  500: 'the endpoint failed before the workflow could respond',
  502: 'a gateway in front of the endpoint could not reach it',
  503: 'the endpoint is not available',
  504: 'a gateway in front of the endpoint timed out waiting for it',
};

/** A complete response of an endpoint. */
export interface EndpointResponse {
  readonly status: number;
  /** Headers with lowercase names. */
  readonly headers: ResponseHeaders;
  readonly body: Buffer;
}

/** Context of a failure message. */
export interface FailureView {
  /** Whether the run redacts data, so that nothing of the response is quoted. */
  readonly hidesData: boolean;
  /** Current time, Unix ms. */
  readonly now: number;
}

/**
 * Returns every header with all its values. A header named `__proto__` is omitted, because it would change the
 * prototype of the object.
 */
export function valuesOf(headers: ResponseHeaders): Record<string, readonly string[]> {
  const values: Record<string, readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && name !== '__proto__') values[name] = typeof value === 'string' ? [value] : value;
  }
  return values;
}

/** Describes a body by its type and its start. */
export function describeBody({ headers, body }: EndpointResponse, hidesData: boolean): string {
  if (hidesData) return snippetOf(body, hidesData);
  const encoding = headerOf(headers, 'content-encoding');
  const encodingText = encoding && encoding !== 'identity' ? `, content-encoding ${encoding} (which was not requested)` : '';
  return `content-type ${headerOf(headers, 'content-type') ?? 'missing'}${encodingText} and ${snippetOf(body, hidesData)}`;
}

/** Describes an error response that was not produced by a workflow. */
export function endpointFailure(
  { status, headers, body }: EndpointResponse,
  { hidesData, now }: FailureView,
): Pick<DeliveryFailure, 'message' | 'retry'> {
  if (status >= 300 && status < 400) {
    return {
      message: `the endpoint responded ${describeRedirect(status, headers, hidesData)}; redirects are not followed: trigger the run with the final URL`,
      retry: BACKOFF,
    };
  }
  const hint = STATUS_HINTS[status];
  return {
    message: `the endpoint returned ${status}${hint ? `: ${hint}` : ''} (${snippetOf(body, hidesData)})`,
    retry: retryAdviceOf(status, headers, now),
  };
}
