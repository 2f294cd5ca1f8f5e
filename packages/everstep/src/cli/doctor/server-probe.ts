/** Sends a request to a server, and returns the status, the body, the time and the certificate of its response. */
import http from 'node:http';
import https from 'node:https';
import { TLSSocket } from 'node:tls';
import { NOT_READY_HEADER } from '../../contract/errors.js';

const TIMEOUT_MS = 5_000;
const MAX_BODY_BYTES = 64 * 1024;

export interface Certificate {
  /** Start of validity in Unix milliseconds. */
  readonly validFrom: number;
  readonly validTo: number;
}

export interface Reply {
  readonly kind: 'replied';
  readonly status: number;
  /** The JSON body; null if it is not JSON. */
  readonly body: unknown;
  /** Reason why the server is not ready, from its header; null if there is none. */
  readonly notReadyReason: string | null;
  /** Time in the Date header, which is rounded down to a second, Unix ms; null if there is none. */
  readonly date: number | null;
  /** Time of this machine when the headers arrived, Unix ms. */
  readonly receivedAt: number;
  readonly roundTripMs: number;
  readonly certificate: Certificate | null;
}

export interface NoReply {
  readonly kind: 'failed';
  readonly error: string;
}

export type Probe = (url: string, options?: { readonly verifiesCertificate?: boolean }) => Promise<Reply | NoReply>;

function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function certificateOf(socket: unknown): Certificate | null {
  if (!(socket instanceof TLSSocket)) return null;
  const { valid_from: from, valid_to: to } = socket.getPeerCertificate();
  return from && to ? { validFrom: Date.parse(from), validTo: Date.parse(to) } : null;
}

/** Sends a request. Never rejects. Accepts any certificate, such as one of a local address, if `verifiesCertificate` is false. */
export const probe: Probe = (url, { verifiesCertificate = true } = {}) =>
  new Promise((resolve) => {
    const fail = (error: Error) =>
      resolve({ kind: 'failed', error: 'code' in error && error.code ? `${error.code}: ${error.message}` : error.message });
    if (!URL.canParse(url)) return fail(new Error(`${url} is not a URL`));
    const startedAt = performance.now();
    const send = url.startsWith('https:') ? https.get : http.get;
    const request = send(url, { rejectUnauthorized: verifiesCertificate, agent: false, timeout: TIMEOUT_MS }, (response) => {
      const [receivedAt, roundTripMs] = [Date.now(), performance.now() - startedAt];
      const certificate = certificateOf(response.socket);
      const date = Date.parse(response.headers.date ?? '');
      const notReadyReason = response.headers[`svc-${NOT_READY_HEADER.toLowerCase()}`];
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MAX_BODY_BYTES) request.destroy(new Error(`the response is larger than ${MAX_BODY_BYTES} bytes`));
      });
      response.on('end', () =>
        resolve({
          ...{
            kind: 'replied',
            status: response.statusCode ?? 0,
            body: parseJsonOrNull(text),
            notReadyReason: typeof notReadyReason === 'string' ? notReadyReason : null,
            receivedAt,
            roundTripMs,
            certificate,
          },
          date: Number.isNaN(date) ? null : date,
        }),
      );
    });
    request.on('timeout', () => request.destroy(new Error(`no response within ${TIMEOUT_MS} ms`)));
    request.on('error', fail);
  });
