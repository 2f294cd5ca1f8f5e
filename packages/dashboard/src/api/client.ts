/**
 * Sends all requests of the dashboard to the server. The browser adds the session cookie; the queue instance and the CSRF token
 * are sent in headers. Failures are returned as values, not thrown.
 */
import type { Failure, Outcome } from './outcome.js';
import { reportReachable } from './reachable.js';

export type Query = Readonly<Record<string, string | number | boolean | readonly (string | number)[] | null | undefined>>;

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Id of the queue instance, for the runtime API. Omitted for the management API. */
  readonly instanceId?: string | undefined;
  /** Parameters without a value (`undefined`, `null`, '') are omitted. Lists repeat the name. */
  readonly query?: Query | undefined;
  /** Sent as JSON, unless it is a string and `headers` has a content type. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

let csrfToken: string | null = null;
let onSessionLost: () => void = () => {};
let renewSession: (refusedToken: string) => Promise<boolean> = async () => false;

/** Sets the CSRF token of the session, which all requests except GET carry. */
export function setCsrfToken(token: string | null): void {
  csrfToken = token;
}

/** Sets the listener that is called when a response reports that the session is missing or has ended. */
export function setSessionLostListener(listener: () => void): void {
  onSessionLost = listener;
}

/**
 * Sets the function that is called when the server refuses the CSRF token, because a user signed in in another tab. It sets the new
 * token and returns true if the request may be repeated.
 */
export function setSessionRenewer(renewer: (refusedToken: string) => Promise<boolean>): void {
  renewSession = renewer;
}

/** Builds a path with percent-encoded parameters: path`/v2/workflows/runs/${id}`. */
export function path(strings: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return strings.reduce((result, part, index) => {
    const value = values[index];
    return `${result}${part}${value === undefined ? '' : encodeURIComponent(value)}`;
  }, '');
}

/** Formats query parameters, with the question mark; empty if there are none. */
export function queryText(query: Query = {}): string {
  const parts: string[] = [];
  const add = (name: string, value: string | number | boolean) => parts.push(`${name}=${encodeURIComponent(value)}`);
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'object' && value !== null) for (const item of value) add(name, item);
    else if (value !== undefined && value !== null && value !== '') add(name, value);
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

const UNREACHABLE: Failure = {
  code: 'unreachable',
  status: 0,
  text: 'The server is not responding. It may be restarting, or the network may be down.',
  retryAfterMs: null,
};

async function failureOf(response: Response): Promise<Failure> {
  const text = await response.text().catch(() => '');
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return {
    code: response.headers.get('svc-error-code') ?? response.headers.get('upstash-error-code') ?? `http-${response.status}`,
    status: response.status,
    text: errorTextOf(text) ?? `The server responded with ${`${response.status} ${response.statusText}`.trimEnd()}.`,
    retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1000 : null,
  };
}

function errorTextOf(text: string): string | null {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string')
      return asSentence(body.error);
  } catch {
    // A proxy between the browser and the server sent the response.
  }
  return null;
}

/** Capitalizes a message of the API. Quoted words such as `"cron"` and header names do not change. */
const asSentence = (message: string): string =>
  /^[a-z][a-z]* /.test(message) ? `${message[0]?.toUpperCase()}${message.slice(1)}` : message;

const INVALID_HEADER: Failure = {
  code: 'invalid-value',
  status: 0,
  text: 'A setting contains a line break or another control character, which requests cannot contain. Remove it and try again.',
  retryAfterMs: null,
};

const utf8 = new TextEncoder();
/** Encodes a header value as the server decodes it: UTF-8, one character per byte, because headers cannot have other characters. */
const headerText = (value: string): string => String.fromCharCode(...utf8.encode(value));

function requestOf({ method = 'GET', instanceId, body, headers = {}, signal }: RequestOptions): RequestInit {
  const allHeaders = new Headers();
  for (const [name, value] of Object.entries(headers)) allHeaders.set(name, headerText(value));
  allHeaders.set('accept', 'application/json');
  if (instanceId !== undefined) allHeaders.set('x-everstep-queue', headerText(instanceId));
  if (method !== 'GET' && csrfToken !== null) allHeaders.set('x-everstep-csrf', csrfToken);
  const isRawBody = typeof body === 'string' && allHeaders.has('content-type');
  if (body !== undefined && !isRawBody) allHeaders.set('content-type', 'application/json');
  const init: RequestInit = { method, headers: allHeaders, credentials: 'same-origin' };
  if (body !== undefined) init.body = isRawBody ? body : JSON.stringify(body);
  if (signal !== undefined) init.signal = signal;
  return init;
}

/** Sends one request. `Value` is the type of a successful response in the operation's contract. */
export async function request<Value>(url: string, options: RequestOptions = {}): Promise<Outcome<Value>> {
  const sentToken = csrfToken;
  const outcome = await send<Value>(url, options);
  if (outcome.ok || outcome.failure.code !== 'csrf-refused' || sentToken === null) return outcome;
  // The refused request has changed nothing, so it can be repeated.
  return (await renewSession(sentToken)) ? send(url, options) : outcome;
}

async function send<Value>(url: string, options: RequestOptions): Promise<Outcome<Value>> {
  const { signal } = options;
  let init: RequestInit;
  try {
    init = requestOf(options);
  } catch {
    return { ok: false, failure: INVALID_HEADER };
  }
  let response: Response;
  try {
    response = await fetch(`${url}${queryText(options.query)}`, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    reportReachable(false);
    return { ok: false, failure: UNREACHABLE };
  }
  reportReachable(true);
  if (!response.ok) {
    const failure = await failureOf(response);
    if (response.status === 401 && !url.startsWith('/v2/session')) onSessionLost();
    return { ok: false, failure };
  }
  try {
    const text = await response.text();
    return { ok: true, value: JSON.parse(text === '' ? 'null' : text) as Value };
  } catch (error) {
    if (signal?.aborted) throw error;
    return {
      ok: false,
      failure: {
        code: 'unreadable',
        status: response.status,
        text: "The server's response was incomplete. Try again.",
        retryAfterMs: null,
      },
    };
  }
}
