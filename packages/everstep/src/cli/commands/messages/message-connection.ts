/**
 * Requests for plain messages, queues and URL groups (`/openapi-upstash.json`). Apps use them through `@upstash/qstash`; the
 * client of @everstep/sdk does not include them.
 */
import { EverstepError } from '@everstep/sdk';
import type { Command } from 'commander';
import { findServer } from '../../connection.js';
import type { Shell } from '../../output.js';
import type { ClientOptions } from '../connection-options.js';

export interface MessageCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Sends a request. Rejects with EverstepError. Resolves with null for an empty response. */
export type CallMessages = <Body>(call: MessageCall) => Promise<Body>;

const MAX_SHOWN_LENGTH = 200;

function queryText(query: MessageCall['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    const values = Array.isArray(value) ? value : [value];
    // The server splits a single value at its commas, but takes repeated values literally. Such a value is therefore sent twice.
    const wouldBeSplit = Array.isArray(value) && values.length === 1 && String(values[0]).includes(',');
    for (const item of wouldBeSplit ? [...values, ...values] : values)
      if (item !== undefined) parameters.append(name, String(item));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

function errorMessageIn(text: string, status: number): string {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string') return body.error;
  } catch {
    // A text that is not JSON is shown as it is.
  }
  return `unexpected response with status ${status}: ${text.slice(0, MAX_SHOWN_LENGTH)}`;
}

/** Returns the parsed options of a command and a function that sends requests to the server they select. */
export async function openMessages<Options extends ClientOptions>(
  command: Command,
  shell: Shell,
): Promise<{ readonly call: CallMessages; readonly options: Options }> {
  const options = command.opts<Options>();
  const { url, token } = await findServer(options, shell);
  const baseUrl = url.replace(/\/+$/, '');
  const call: CallMessages = async <Body>({ method, path, query, headers, body }: MessageCall) => {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${baseUrl}${path}${queryText(query)}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
      });
      text = await response.text();
    } catch (cause) {
      throw new EverstepError(`no response from ${baseUrl}`, { status: 0, code: 'unreachable', cause });
    }
    const { status } = response;
    if (!response.ok) {
      const code = response.headers.get('svc-error-code') ?? response.headers.get('upstash-error-code') ?? 'unknown';
      throw new EverstepError(errorMessageIn(text, status), { status, code });
    }
    return JSON.parse(text === '' ? 'null' : text) as Body;
  };
  return { call, options };
}

/** Returns a request with a JSON body. */
export const jsonCall = (method: MessageCall['method'], path: string, body: object): MessageCall => ({
  method,
  path,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
