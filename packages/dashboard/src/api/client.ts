/**
 * Every request of the pages to the service. The session's cookie goes along by itself; which queue instance is meant and
 * the token against forged requests are headers. Nothing here is thrown: a failure is a value.
 */
import type { Failure, Outcome } from './outcome.js';
import { tellAnswered } from './reachable.js';

export type Query = Readonly<Record<string, string | number | boolean | readonly (string | number)[] | null | undefined>>;

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Id of the queue instance that a call of the runtime API is for; none for the management API. */
  readonly queueId?: string | undefined;
  /** Parameters without a value (`undefined`, `null`, '') are left away; lists repeat the name. */
  readonly query?: Query | undefined;
  /** Sent as JSON, unless it is a string with a content type of its own in `headers`. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

let csrfToken: string | null = null;
let onSessionLost: () => void = () => {};

/** The token of the session, which every request that changes something carries. */
export function setCsrfToken(token: string | null): void {
  csrfToken = token;
}

/** Called when an answer says that there is no session (any more). */
export function whenSessionIsLost(listener: () => void): void {
  onSessionLost = listener;
}

/** A path with its parameters percent-encoded: path`/v2/workflows/runs/${id}`. */
export function path(strings: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return strings.reduce((made, part, index) => {
    const value = values[index];
    return `${made}${part}${value === undefined ? '' : encodeURIComponent(value)}`;
  }, '');
}

export function queryText(query: Query = {}): string {
  const parts: string[] = [];
  const add = (name: string, value: string | number | boolean) => parts.push(`${name}=${encodeURIComponent(value)}`);
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'object' && value !== null) for (const each of value) add(name, each);
    else if (value !== undefined && value !== null && value !== '') add(name, value);
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

const UNREACHABLE: Failure = {
  code: 'unreachable',
  status: 0,
  text: 'The service does not answer. It may be starting again, or the network is away.',
  retryAfterMs: null,
};

async function failureOf(response: Response): Promise<Failure> {
  const text = await response.text().catch(() => '');
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return {
    code: response.headers.get('svc-error-code') ?? response.headers.get('upstash-error-code') ?? `http-${response.status}`,
    status: response.status,
    text: errorIn(text) ?? `The service answered ${response.status} ${response.statusText}.`,
    retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1000 : null,
  };
}

function errorIn(text: string): string | null {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string') return body.error;
  } catch {
    // Something between us and the service answered in its own words.
  }
  return null;
}

/** One request. `Value` is what the operation's contract says that a success answers. */
export async function request<Value>(url: string, options: RequestOptions = {}): Promise<Outcome<Value>> {
  const { method = 'GET', queueId, query, body, headers = {}, signal } = options;
  const sent = new Headers(headers);
  sent.set('accept', 'application/json');
  if (queueId !== undefined) sent.set('x-everstep-queue', queueId);
  if (method !== 'GET' && csrfToken !== null) sent.set('x-everstep-csrf', csrfToken);
  const raw = typeof body === 'string' && sent.has('content-type');
  if (body !== undefined && !raw) sent.set('content-type', 'application/json');
  const init: RequestInit = { method, headers: sent, credentials: 'same-origin' };
  if (body !== undefined) init.body = raw ? body : JSON.stringify(body);
  if (signal !== undefined) init.signal = signal;
  let response: Response;
  try {
    response = await fetch(`${url}${queryText(query)}`, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    tellAnswered(false);
    return { ok: false, failure: UNREACHABLE };
  }
  tellAnswered(true);
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
        text: 'The answer of the service was cut off.',
        retryAfterMs: null,
      },
    };
  }
}
