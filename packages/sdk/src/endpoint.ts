/** A workflow endpoint, independent of the HTTP library in front of it. */
import type { Workflow } from './context.js';
import { describeError } from './errors.js';
import { refusedReply } from './executor/executor.js';
import { unsupportedProtocol } from './executor/step-request.js';
import {
  type CheckReply,
  FAILURE_FUNCTION_HEADER,
  type FailedReply,
  NATIVE_PREFIX,
  NON_RETRYABLE_STATUS,
  PROTOCOL_HEADER,
  PROTOCOL_VERSION,
  parseJson,
  type StepReply,
} from './protocol.js';
import { createServedWorkflow, type NoticeOutcome, type ServedWorkflow, type WorkflowOptions } from './served-workflow.js';
import { createRequestCheck, SIGNATURE_HEADERS, type SignatureOptions } from './signature/request-signature.js';
import { isSameUrl, type SignatureClaims } from './signature/signature.js';

/** Options of a served workflow. */
export interface ServeOptions<Payload> extends WorkflowOptions<Payload>, SignatureOptions {}

/** A request in the form that an endpoint handles. */
export interface EndpointRequest {
  readonly method: string;
  readonly url: string;
  /** Request headers by lowercase name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The raw body. If a framework has parsed the body and the bytes are no longer available, the parsed value. */
  readonly body: Uint8Array | string | { readonly parsed: unknown };
  /** Returns true once the client has disconnected. Absent if the HTTP library cannot detect this. */
  readonly isAbandoned?: () => boolean;
}

/** The response of an endpoint. */
export interface EndpointResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A workflow endpoint that does not depend on an HTTP library. */
export interface Endpoint {
  /** Handles a request from the server and returns the response to send. Never rejects. */
  handle(request: EndpointRequest): Promise<EndpointResponse>;
}

/** The endpoint of one workflow, which also serves transports other than HTTP. */
export interface WorkflowEndpoint extends Endpoint {
  readonly workflow: ServedWorkflow;
}

const VERSION_HEADER = `${NATIVE_PREFIX}${PROTOCOL_HEADER}`;
const FAILURE_HEADER = `${NATIVE_PREFIX}${FAILURE_FUNCTION_HEADER}`;
const BASE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'Content-Type': 'application/json',
  [VERSION_HEADER]: String(PROTOCOL_VERSION),
});
/** Lowercase names of all request headers that an endpoint reads. */
const ENDPOINT_HEADERS = Object.freeze({
  protocol: VERSION_HEADER.toLowerCase(),
  ...SIGNATURE_HEADERS,
  failureFunction: FAILURE_HEADER.toLowerCase(),
});
/** Collects the request headers that an endpoint reads. `read` returns a header by its lowercase name. */
export const endpointHeaders = (read: (name: string) => string | null | undefined): EndpointRequest['headers'] =>
  Object.fromEntries(Object.values(ENDPOINT_HEADERS).map((name) => [name, read(name) ?? undefined]));

const jsonResponse = (status: number, body: object, headers?: Readonly<Record<string, string>>): EndpointResponse => ({
  status,
  headers: headers ? { ...BASE_HEADERS, ...headers } : BASE_HEADERS,
  body: JSON.stringify(body),
});

/** Builds the response to a failure. Its status and headers say whether a retry can help. */
function failureResponse(body: object, retry: FailedReply['retry']): EndpointResponse {
  switch (retry.kind) {
    case 'never':
      return jsonResponse(NON_RETRYABLE_STATUS, body, { 'NonRetryable-Error': 'true' });
    case 'after':
      return jsonResponse(429, body, { 'Retry-After': String(Math.ceil(retry.delayMs / 1000)) });
    case 'backoff':
      return jsonResponse(500, body);
  }
}

function replyResponse(reply: StepReply | CheckReply): EndpointResponse {
  if (reply.kind === 'refused') return jsonResponse(400, reply);
  return reply.kind === 'failed' ? failureResponse(reply, reply.retry) : jsonResponse(200, reply);
}

function noticeResponse(outcome: NoticeOutcome): EndpointResponse {
  switch (outcome.kind) {
    case 'handled':
      return jsonResponse(200, {});
    case 'rejected':
      return jsonResponse(outcome.reason === 'malformed' ? 400 : 404, { error: outcome.message });
    case 'failed':
      return failureResponse({ error: outcome.message }, outcome.retry);
  }
}

function failedReply(name: string, message: string): FailedReply {
  return { protocol: PROTOCOL_VERSION, kind: 'failed', base: 0, done: [], error: { name, message }, retry: { kind: 'backoff' } };
}

const firstValue = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.[0];

/** Returns an error message if a signature and its frame contain different URLs, otherwise null. */
function urlMismatch(claims: SignatureClaims | null, frame: unknown): string | null {
  const run = typeof frame === 'object' && frame !== null && 'run' in frame ? frame.run : null;
  const runUrl = typeof run === 'object' && run !== null && 'workflowUrl' in run ? run.workflowUrl : null;
  if (claims === null || typeof runUrl !== 'string' || isSameUrl(claims.sub, runUrl)) return null;
  return `the signature is for ${JSON.stringify(claims.sub)}, but the run belongs to ${JSON.stringify(runUrl)}`;
}

const NOT_FROM_SERVER = `this is a workflow endpoint: start a run through the server (POST /v2/trigger/<this URL>) instead of calling it (the request has no ${VERSION_HEADER} header)`;

const methodNotAllowed = (): EndpointResponse => ({
  status: 405,
  headers: { ...BASE_HEADERS, 'Content-Type': 'text/plain; charset=utf-8', Allow: 'POST' },
  body: 'This is a workflow endpoint of Everstep. It accepts only POST requests from the server.\n',
});

/**
 * Creates an endpoint for a workflow. Most apps call `serve` or an adapter instead.
 *
 * @throws {RangeError} If an option is invalid.
 */
export function createEndpoint<Payload, Result>(
  workflow: Workflow<Payload, Result>,
  options: ServeOptions<Payload> = {},
): WorkflowEndpoint {
  const servedWorkflow = createServedWorkflow(workflow, options, options.url);
  const checkRequest = createRequestCheck(options);

  function rejectSignature(message: string, status: 401 | 500): EndpointResponse {
    servedWorkflow.log?.(`rejected a request: ${message}`);
    return jsonResponse(status, failedReply('SignatureError', message));
  }

  async function handleRequest(request: EndpointRequest): Promise<EndpointResponse> {
    if (request.method !== 'POST') return methodNotAllowed();
    const version = firstValue(request.headers[ENDPOINT_HEADERS.protocol]);
    const isFailureNotice = firstValue(request.headers[ENDPOINT_HEADERS.failureFunction]) !== undefined;
    if (version === undefined && !isFailureNotice) {
      return replyResponse(refusedReply('bad-request', NOT_FROM_SERVER));
    }
    const { url, headers, body } = request;
    const verdictOrPromise = checkRequest({
      url,
      signature: firstValue(headers[ENDPOINT_HEADERS.signature]),
      ed25519Signature: firstValue(headers[ENDPOINT_HEADERS.ed25519Signature]),
      body,
      kind: isFailureNotice ? 'failure-function' : 'step',
    });
    const verdict = verdictOrPromise instanceof Promise ? await verdictOrPromise : verdictOrPromise;
    if (!verdict.ok) return rejectSignature(verdict.message, 'isMisconfigured' in verdict ? 500 : 401);
    if (!isFailureNotice && version?.trim() !== String(PROTOCOL_VERSION))
      return replyResponse(refusedReply('unsupported-protocol', unsupportedProtocol(version).message));
    const bodyResult = readJson(body);
    if (!bodyResult.ok) return replyResponse(refusedReply('bad-request', bodyResult.message));
    const { value: frame } = bodyResult;
    if (isFailureNotice) return noticeResponse(await servedWorkflow.handleNotice(frame));
    const mismatch = urlMismatch(verdict.claims, frame);
    if (mismatch !== null) return rejectSignature(mismatch, 401);
    return replyResponse(await servedWorkflow.answer(frame, request));
  }

  return {
    workflow: servedWorkflow,
    async handle(request) {
      try {
        return await handleRequest(request);
      } catch (error) {
        const { name, message } = describeError(error);
        return jsonResponse(500, failedReply(name, message));
      }
    },
  };
}

const decoder = new TextDecoder();
/** Decodes UTF-8. Buffers decode several times faster than a TextDecoder. */
function decodeUtf8(bytes: Uint8Array): string {
  if (typeof Buffer === 'function') return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return decoder.decode(bytes);
}

type BodyResult = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string };

function readJson(body: EndpointRequest['body']): BodyResult {
  if (typeof body === 'object' && 'parsed' in body) return { ok: true, value: body.parsed };
  try {
    return { ok: true, value: parseJson(typeof body === 'string' ? body : decodeUtf8(body)) };
  } catch (error) {
    return { ok: false, message: `the body is not valid JSON: ${describeError(error).message}` };
  }
}
