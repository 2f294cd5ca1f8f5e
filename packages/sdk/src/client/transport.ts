/** One call to the API: builds the request and converts every failure to an EverstepError. */
import { describeError, EverstepError } from '../errors.js';

/** One call to the API. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly signal?: AbortSignal;
  /** If true, the call rejects if a value in the response cannot be decrypted. Otherwise such a value stays encrypted. */
  readonly mustDecrypt?: boolean;
}

/** Creates a call that sends JSON. Undefined values are omitted. */
export const jsonCall = (method: Call['method'], path: string, body: object): Call => ({
  method,
  path,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

/** Address, credential and fetch function of the API. */
export interface TransportOptions {
  /** Base URL of the API, without a trailing slash. */
  readonly baseUrl: string;
  /** Value of the Authorization header; empty for public operations. */
  readonly authorization: string;
  readonly fetch: typeof fetch;
}

const MAX_SHOWN_LENGTH = 200;

/**
 * Returns the values of a parameter to send. The server splits a single value at commas, but not the values of a repeated
 * parameter, so a single value of a list is repeated if it contains a comma.
 */
function valuesOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) return [value];
  const [item] = value;
  return value.length === 1 && String(item).includes(',') ? [item, item] : value;
}

/** Returns `query` with the filters in `names` as lists, because the server does not split the values of a list. */
export function withListValues<Options extends object>(query: Options, names: readonly (keyof Options)[]): object {
  const lists = names.map((name) => [name, query[name]] as const).filter(([, value]) => typeof value === 'string');
  return { ...query, ...Object.fromEntries(lists.map(([name, value]) => [name, [value]])) };
}

/** Formats query parameters, including the leading `?`; empty if there are none. */
export function queryText(query: object | undefined): string {
  const parameters: string[] = [];
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const item of valuesOf(value)) {
      if (item === undefined) continue;
      parameters.push(`${encodeURIComponent(name)}=${encodeURIComponent(item instanceof Date ? item.getTime() : String(item))}`);
    }
    // An empty list must not become a missing filter.
    if (Array.isArray(value) && value.length === 0) parameters.push(`${encodeURIComponent(name)}=`);
  }
  return parameters.length > 0 ? `?${parameters.join('&')}` : '';
}

/** Encodes a header value as UTF-8, because fetch treats headers as bytes. */
function headerBytes(value: string): string {
  let bytes = '';
  for (const byte of new TextEncoder().encode(value)) bytes += String.fromCharCode(byte);
  return bytes;
}

function messageOf(text: string, status: number): string {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string') return body.error;
  } catch {
    // The response is not an error of the server. Its text is shown below.
  }
  return `the response has status ${status}${text.trim() ? `: ${text.trim().slice(0, MAX_SHOWN_LENGTH)}` : ''}`;
}

function unreachableError(options: TransportOptions, error: unknown): EverstepError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return new EverstepError(`no response from ${options.baseUrl}: ${describeError(cause).message}`, {
    status: 0,
    code: 'unreachable',
    cause: error,
  });
}

async function errorOf(response: Response): Promise<EverstepError> {
  const { status, headers } = response;
  return new EverstepError(messageOf(await response.text(), status), {
    status,
    code: headers.get('Svc-Error-Code') ?? 'unknown',
  });
}

async function* textChunks(options: TransportOptions, body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } catch (error) {
    throw unreachableError(options, error);
  }
}

/** The path segments "." and ".." cannot be encoded in a URL. The request would go to a different path. */
const DOT_SEGMENT = /\/\.{1,2}(?=\/|$)/;

function urlOf({ baseUrl }: TransportOptions, { path, query }: Call): string {
  if (DOT_SEGMENT.test(path))
    throw new EverstepError(`an id cannot be "." or "..": ${path}`, { status: 0, code: 'bad-parameter' });
  return `${baseUrl}${path}${queryText(query)}`;
}

/**
 * Opens a streaming response and returns its text as it arrives.
 *
 * @throws {EverstepError} If the request is rejected. Iterating throws it if the connection breaks.
 */
export async function openStream(options: TransportOptions, call: Call): Promise<AsyncIterable<string>> {
  const headers = { Authorization: options.authorization, Accept: 'text/event-stream' };
  const { method, signal } = call;
  const url = urlOf(options, call);
  let response: Response;
  try {
    response = await options.fetch(url, {
      method,
      headers,
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    throw unreachableError(options, error);
  }
  if (!response.ok || response.body === null) throw await errorOf(response);
  return textChunks(options, response.body);
}

interface TextResponse {
  readonly status: number;
  readonly text: string;
}

async function fetchText(options: TransportOptions, call: Call): Promise<TextResponse> {
  const { authorization } = options;
  const headers: Record<string, string> = authorization === '' ? {} : { Authorization: authorization };
  for (const [name, value] of Object.entries(call.headers ?? {})) headers[name] = headerBytes(value);
  const { body } = call;
  const url = urlOf(options, call);
  let response: Response;
  let text: string;
  try {
    response = await options.fetch(url, {
      method: call.method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body) }),
      ...(call.signal ? { signal: call.signal } : {}),
    });
    text = await response.text();
  } catch (error) {
    if (call.signal?.aborted) throw call.signal.reason;
    throw unreachableError(options, error);
  }
  const { status } = response;
  if (!response.ok) {
    throw new EverstepError(messageOf(text, status), { status, code: response.headers.get('Svc-Error-Code') ?? 'unknown' });
  }
  return { status, text };
}

/**
 * Returns the text of a successful response.
 *
 * @throws {EverstepError} If the call fails. If `signal` aborts it, rejects with its reason.
 */
export const callForText = async (options: TransportOptions, call: Call): Promise<string> =>
  (await fetchText(options, call)).text;

/**
 * Returns the JSON value of a successful response.
 *
 * @throws {EverstepError} If the call fails. If `signal` aborts it, rejects with its reason.
 */
export async function callApi(options: TransportOptions, call: Call): Promise<unknown> {
  const { status, text } = await fetchText(options, call);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = `the response is not JSON; check that ${options.baseUrl} is the address of the server. The response starts with: ${text.slice(0, MAX_SHOWN_LENGTH)}`;
    throw new EverstepError(message, { status, code: 'unknown', cause });
  }
}

/** Returns the HTTP Basic credential of a user, encoded as UTF-8. */
export function basicAuthorization(email: string, apiKey: string): string {
  const bytes = new TextEncoder().encode(`${email}:${apiKey}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}
