/** A workflow endpoint, independent of the HTTP library in front of it. */
import type { Workflow } from './context.js';
import { describeError, retryAdvice } from './errors.js';
import { checkReplay } from './executor/check.js';
import type { Execution } from './executor/execution.js';
import { Executor, refusal } from './executor/executor.js';
import { HeldRuns } from './executor/held-runs.js';
import { readCheckRequest, readStepRequest, unsupportedProtocol } from './executor/step-request.js';
import { callFailureFunction, type FailureFunction, readFailureNotice } from './failure-function.js';
import { type PayloadOptions, withPayload } from './payload.js';
import {
  FAILURE_FUNCTION_HEADER,
  type FailedReply,
  NATIVE_PREFIX,
  NON_RETRYABLE_STATUS,
  PROTOCOL_HEADER,
  PROTOCOL_VERSION,
  parseJson,
  type StepReply,
  type StepRequest,
} from './protocol.js';
import { createRequestCheck, SIGNATURE_HEADERS, type SignatureOptions } from './signature/request-signature.js';
import { isSameUrl, type SignatureClaims } from './signature/signature.js';
import { contextOf } from './workflow-context.js';

/** Limits of the runs that are kept in memory between their steps. */
export interface HoldOptions {
  /** Maximum number of runs kept in memory. Default: 10,000. */
  readonly max?: number;
  /** Time in milliseconds after which an unused run is removed. Default: 60,000. */
  readonly idleMs?: number;
}

/** Options of a served workflow. */
export interface ServeOptions<Payload> extends PayloadOptions<Payload>, SignatureOptions {
  /**
   * Maximum number of retries of a step or of the code between steps. It can only lower the number that the run was
   * triggered with.
   */
  readonly retries?: number;
  /** Logs each request: `true` for console.log, or a function that receives each line. */
  readonly verbose?: boolean | ((line: string) => void);
  /**
   * Keeps runs in memory between their steps, so that a step does not replay the steps before it. Enabled by default,
   * except on Cloudflare Workers, where one request must not await the promises of another.
   */
  readonly holdRuns?: boolean | HoldOptions;
  /**
   * Called when a run has failed permanently, unless its trigger specified a failure callback. It can be called more
   * than once for a run; use `dlqId` to detect repetitions. If it throws, the service calls it again, like a failed
   * step.
   */
  readonly failureFunction?: FailureFunction<Payload>;
}

/** A request in the form that an endpoint handles. */
export interface EndpointRequest {
  readonly method: string;
  readonly url: string;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The raw body. If a framework has parsed the body and the bytes are no longer available, the parsed value. */
  readonly body: Uint8Array | string | { readonly parsed: unknown };
}

/** The response of an endpoint. */
export interface EndpointResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A workflow endpoint that does not depend on an HTTP library. */
export interface Endpoint {
  /** Handles a request from the service and returns the response to send. Never rejects. */
  handle(request: EndpointRequest): Promise<EndpointResponse>;
}

const VERSION_HEADER = `${NATIVE_PREFIX}${PROTOCOL_HEADER}`;
const FAILURE_HEADER = `${NATIVE_PREFIX}${FAILURE_FUNCTION_HEADER}`;
const BASE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'Content-Type': 'application/json',
  [VERSION_HEADER]: String(PROTOCOL_VERSION),
});
/** Lower-case names of all request headers that an endpoint reads. */
const ENDPOINT_HEADERS = Object.freeze({
  protocol: VERSION_HEADER.toLowerCase(),
  ...SIGNATURE_HEADERS,
  failureFunction: FAILURE_HEADER.toLowerCase(),
});
/** Collects the request headers that an endpoint reads. `read` returns a header by its lower-case name. */
export const endpointHeaders = (read: (name: string) => string | null | undefined): EndpointRequest['headers'] =>
  Object.fromEntries(Object.values(ENDPOINT_HEADERS).map((name) => [name, read(name) ?? undefined]));

const DEFAULT_HOLD = { max: 10_000, idleMs: 60_000 } as const;

const json = (status: number, body: object, headers?: Readonly<Record<string, string>>): EndpointResponse => ({
  status,
  headers: headers ? { ...BASE_HEADERS, ...headers } : BASE_HEADERS,
  body: JSON.stringify(body),
});

/** Builds the response to a failure. Its status and headers say whether a retry can help. */
function failureAnswer(body: object, retry: FailedReply['retry']): EndpointResponse {
  switch (retry.kind) {
    case 'never':
      return json(NON_RETRYABLE_STATUS, body, { 'NonRetryable-Error': 'true' });
    case 'after':
      return json(429, body, { 'Retry-After': String(Math.ceil(retry.delayMs / 1000)) });
    case 'backoff':
      return json(500, body);
  }
}

function respond(reply: StepReply): EndpointResponse {
  if (reply.kind === 'refused') return json(400, reply);
  return reply.kind === 'failed' ? failureAnswer(reply, reply.retry) : json(200, reply);
}

function failed(name: string, message: string): FailedReply {
  return { protocol: PROTOCOL_VERSION, kind: 'failed', base: 0, done: [], error: { name, message }, retry: { kind: 'backoff' } };
}

const firstValue = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.[0];

/** Returns an error message if a signature and its frame name different URLs, otherwise null. */
function urlMismatch(claims: SignatureClaims | null, frame: unknown): string | null {
  const run = typeof frame === 'object' && frame !== null && 'run' in frame ? frame.run : null;
  const named = typeof run === 'object' && run !== null && 'workflowUrl' in run ? run.workflowUrl : null;
  if (claims === null || typeof named !== 'string' || isSameUrl(claims.sub, named)) return null;
  return `the signature is for ${JSON.stringify(claims.sub)}, but the run belongs to ${JSON.stringify(named)}`;
}

function heldRunsFor(option: boolean | HoldOptions | undefined): HeldRuns | null {
  const isCloudflare = typeof navigator === 'object' && navigator.userAgent === 'Cloudflare-Workers';
  if (option === false || (option === undefined && isCloudflare)) return null;
  const { max, idleMs } = { ...DEFAULT_HOLD, ...(typeof option === 'object' ? option : {}) };
  if (!(Number.isSafeInteger(max) && max >= 1))
    throw new RangeError(`holdRuns.max must be a whole number of at least 1, not ${max}`);
  if (!(Number.isFinite(idleMs) && idleMs > 0))
    throw new RangeError(`holdRuns.idleMs must be a number greater than 0, not ${idleMs}`);
  return new HeldRuns({ max, idleMs });
}

const NOT_FROM_THE_SERVICE = `this is a workflow endpoint: start a run through the service (POST /v2/trigger/<this URL>) instead of calling it (the request has no ${VERSION_HEADER} header)`;

const NO_FAILURE_FUNCTION = 'this workflow has no failureFunction; add the option to serve() or deploy the version that has it';

function checkRetries(retries: number | undefined): void {
  if (retries === undefined || (Number.isSafeInteger(retries) && retries >= 0)) return;
  throw new RangeError(`retries must be a whole number of at least 0, not ${retries}`);
}

const methodNotAllowed = (): EndpointResponse => ({
  status: 405,
  headers: { ...BASE_HEADERS, 'Content-Type': 'text/plain; charset=utf-8', Allow: 'POST' },
  body: 'This is a workflow endpoint of Everstep. It accepts only POST requests from the service.\n',
});

/**
 * Creates an endpoint for a workflow. Most apps call `serve` or an adapter instead.
 *
 * @throws {RangeError} If an option is invalid.
 */
export function createEndpoint<Payload, Result>(
  workflow: Workflow<Payload, Result>,
  options: ServeOptions<Payload> = {},
): Endpoint {
  const { retries, failureFunction } = options;
  checkRetries(retries);
  const log = options.verbose === true ? console.log : options.verbose === false ? undefined : options.verbose;
  let worker: string | undefined;
  /** Runs the workflow function. */
  function runCode(execution: Execution, { run, input }: Pick<StepRequest, 'run' | 'input'>): unknown {
    // The input is present whenever a run starts here. A request without it uses only a held execution.
    if (!input) throw new Error('the request has no input');
    const url = options.url ?? run.workflowUrl;
    return withPayload(input, options, (payload) => workflow(contextOf(execution, run, input, payload, url)));
  }
  const executor = new Executor({
    body: runCode,
    heldRuns: heldRunsFor(options.holdRuns),
    // Created with the first request, because some runtimes have no randomness while a module loads.
    worker: () => {
      worker ??= crypto.randomUUID();
      return worker;
    },
    ...(retries === undefined ? {} : { maxRetries: retries }),
    failureFunction: failureFunction !== undefined,
  });

  const checkRequest = createRequestCheck(options);

  function refuseSignature(message: string, status: 401 | 500): EndpointResponse {
    log?.(`rejected a request: ${message}`);
    return json(status, failed('SignatureError', message));
  }

  /** Handles the notice that a run has failed permanently. */
  async function handleFailureNotice(value: unknown): Promise<EndpointResponse> {
    const notice = readFailureNotice(value);
    if (!notice) return json(400, { error: 'the body is not a failure notice; only the service may send this request' });
    const what = `run ${notice.workflowRunId}, failure function`;
    // This instance of the app may be outdated. A retry may reach one that has the function.
    if (!failureFunction) return json(404, { error: NO_FAILURE_FUNCTION });
    try {
      await callFailureFunction(notice, failureFunction, options);
    } catch (error) {
      const { name, message } = describeError(error);
      log?.(`${what}: ${name}: ${message}`);
      return failureAnswer({ error: `${name}: ${message}` }, retryAdvice(error));
    }
    log?.(`${what}: done`);
    return json(200, {});
  }

  async function answer(request: EndpointRequest): Promise<EndpointResponse> {
    if (request.method !== 'POST') return methodNotAllowed();
    const version = firstValue(request.headers[ENDPOINT_HEADERS.protocol]);
    const isFailureNotice = firstValue(request.headers[ENDPOINT_HEADERS.failureFunction]) !== undefined;
    if (version === undefined && !isFailureNotice) {
      return respond(refusal('bad-request', NOT_FROM_THE_SERVICE));
    }
    const { url, headers, body: bytes } = request;
    const pending = checkRequest({
      url,
      signature: firstValue(headers[ENDPOINT_HEADERS.signature]),
      ed25519Signature: firstValue(headers[ENDPOINT_HEADERS.ed25519Signature]),
      body: bytes,
      kind: isFailureNotice ? 'failure-function' : 'step',
    });
    const signed = pending instanceof Promise ? await pending : pending;
    if (!signed.ok) return refuseSignature(signed.message, 'isMisconfigured' in signed ? 500 : 401);
    if (!isFailureNotice && version?.trim() !== String(PROTOCOL_VERSION))
      return respond(refusal('unsupported-protocol', unsupportedProtocol(version).message));
    const body = readJson(request.body);
    if (!body.ok) return respond(refusal('bad-request', body.message));
    const { value } = body;
    if (isFailureNotice) return handleFailureNotice(value);
    const wrongRun = urlMismatch(signed.claims, value);
    if (wrongRun !== null) return refuseSignature(wrongRun, 401);
    const check = readCheckRequest(value);
    // Not logged, because the check does not affect the run.
    if (check) return json(200, await checkReplay(check, (execution) => runCode(execution, check)));
    const read = readStepRequest(value);
    if (!read.ok) return respond(refusal(read.code, read.message));
    const reply = await executor.handle(read.request);
    if (log) log(describeExchange(read.request, reply));
    return respond(reply);
  }

  return {
    async handle(request) {
      try {
        return await answer(request);
      } catch (error) {
        const { name, message } = describeError(error);
        return json(500, failed(name, message));
      }
    },
  };
}

const decoder = new TextDecoder();
/** Decodes UTF-8. Buffers decode several times faster than a TextDecoder. */
function decode(bytes: Uint8Array): string {
  if (typeof Buffer === 'function') return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return decoder.decode(bytes);
}

type ReadBody = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string };

function readJson(body: EndpointRequest['body']): ReadBody {
  if (typeof body === 'object' && 'parsed' in body) return { ok: true, value: body.parsed };
  try {
    return { ok: true, value: parseJson(typeof body === 'string' ? body : decode(body)) };
  } catch (error) {
    return { ok: false, message: `the body is not valid JSON: ${describeError(error).message}` };
  }
}

function describeExchange(request: StepRequest, reply: StepReply): string {
  const goal = request.target === null ? 'continue' : `step ${request.target}`;
  const parts: string[] = [reply.kind];
  if (reply.kind === 'progress' || reply.kind === 'failed') {
    for (const step of reply.done) parts.push(`completed ${step.stepId} ${JSON.stringify(step.name)}`);
  }
  if (reply.kind === 'progress') {
    for (const step of reply.planned) parts.push(`planned ${step.stepId} ${step.type} ${JSON.stringify(step.name)}`);
    if (reply.end) parts.push(reply.end.kind);
  } else if (reply.kind === 'failed') {
    parts.push(`${reply.step ? `${JSON.stringify(reply.step.name)}: ` : ''}${reply.error.name}: ${reply.error.message}`);
  } else if (reply.kind === 'refused') parts.push(reply.message);
  return `run ${request.run.id}, ${goal}${request.retried > 0 ? `, retry ${request.retried}` : ''}: ${parts.join(', ')}`;
}
