/** One call of the API: builds the request, and turns everything but success into an EverstepError. */
import { describeError, EverstepError } from '../errors.js';

export type QueryValue = string | number | boolean | readonly (string | number)[] | undefined;
export type Query = Readonly<Record<string, QueryValue>>;

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly signal?: AbortSignal;
}

/** A call that sends JSON; what is undefined is left out. */
export const jsonCall = (method: Call['method'], path: string, body: object): Call => ({
  method,
  path,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

export interface TransportOptions {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** The header that says who calls; empty for operations that are open to everybody. */
  readonly authorization: string;
  readonly fetch: typeof fetch;
}

const MAX_SHOWN = 200;

/** The service splits a parameter at its commas, and takes the values of a repeated one as they are. */
function valuesOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) return [value];
  const [only] = value;
  return value.length === 1 && String(only).includes(',') ? [only, only] : value;
}

/** `query` with the named filters, which take several values, as lists: the service takes each value of a list as it is. */
export function asLists<Options extends object>(query: Options, names: readonly (keyof Options)[]): object {
  const lists = names.map((name) => [name, query[name]] as const).filter(([, value]) => typeof value === 'string');
  return { ...query, ...Object.fromEntries(lists.map(([name, value]) => [name, [value]])) };
}

export function queryText(query: object | undefined): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of valuesOf(value)) {
      if (one === undefined) continue;
      parts.push(`${encodeURIComponent(name)}=${encodeURIComponent(one instanceof Date ? one.getTime() : String(one))}`);
    }
    // An empty list must not turn into no filter at all.
    if (Array.isArray(value) && value.length === 0) parts.push(`${encodeURIComponent(name)}=`);
  }
  return parts.length > 0 ? `?${parts.join('&')}` : '';
}

/** fetch takes headers as bytes; the service reads them as UTF-8. */
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
    // Not an error of the service: shown as it is.
  }
  return `the answer has status ${status}${text.trim() ? `: ${text.trim().slice(0, MAX_SHOWN)}` : ''}`;
}

function unreachable(options: TransportOptions, error: unknown): EverstepError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return new EverstepError(`no answer from ${options.baseUrl}: ${describeError(cause).message}`, {
    status: 0,
    code: 'unreachable',
    cause: error,
  });
}

async function refusal(response: Response): Promise<EverstepError> {
  const { status, headers } = response;
  return new EverstepError(messageOf(await response.text(), status), {
    status,
    code: headers.get('Svc-Error-Code') ?? 'unknown',
  });
}

async function* textOf(options: TransportOptions, body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } catch (error) {
    throw unreachable(options, error);
  }
}

/** Neither can be written in the path of a URL, percent-encoded or not: what is called would be something else. */
const DOTS = /\/\.{1,2}(?=\/|$)/;

function urlOf({ baseUrl }: TransportOptions, { path, query }: Call): string {
  if (DOTS.test(path))
    throw new EverstepError(`no URL can carry the ID "." or "..", as in ${path}`, { status: 0, code: 'bad-parameter' });
  return `${baseUrl}${path}${queryText(query)}`;
}

/** The text of an answer as it comes. Rejects with EverstepError; iterating throws it when the answer is cut off. */
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
    throw unreachable(options, error);
  }
  if (!response.ok || response.body === null) throw await refusal(response);
  return textOf(options, response.body);
}

interface TextAnswer {
  readonly status: number;
  readonly text: string;
}

async function answerTo(options: TransportOptions, call: Call): Promise<TextAnswer> {
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
    throw unreachable(options, error);
  }
  const { status } = response;
  if (!response.ok) {
    throw new EverstepError(messageOf(text, status), { status, code: response.headers.get('Svc-Error-Code') ?? 'unknown' });
  }
  return { status, text };
}

/** The text of a successful answer. Rejects with EverstepError, or with the reason of `signal`. */
export const callForText = async (options: TransportOptions, call: Call): Promise<string> => (await answerTo(options, call)).text;

/** The JSON value of a successful answer. Rejects with EverstepError, or with the reason of `signal`. */
export async function callApi(options: TransportOptions, call: Call): Promise<unknown> {
  const { status, text } = await answerTo(options, call);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = `the answer is not JSON; is ${options.baseUrl} the address of the service? It begins: ${text.slice(0, MAX_SHOWN)}`;
    throw new EverstepError(message, { status, code: 'unknown', cause });
  }
}

/** The credential of a user. HTTP Basic takes bytes, and the service reads them as UTF-8. */
export function basic(email: string, apiKey: string): string {
  const bytes = new TextEncoder().encode(`${email}:${apiKey}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}
