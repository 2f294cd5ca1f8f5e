/** The failure function: the server calls it when a run has failed permanently. */
import { bytesOf, encodeBody, textOf } from './encoded-body.js';
import { type EncryptionOptions, openPayload } from './encryption/envelope.js';
import { DecryptionError } from './errors.js';
import { headersOf, type PayloadOptions, withPayload } from './payload.js';
import { type FailureNotice, parseJson, type RunInput } from './protocol.js';

/** A failed run, as its failure function receives it. */
export interface RunFailure<Payload> {
  readonly runId: string;
  /** Time at which the run was created, Unix milliseconds. */
  readonly runCreatedAt: number;
  readonly workflowUrl: string;
  /**
   * Payload of the trigger, as the workflow receives it. If it cannot be read that way, which may be why the run
   * failed, it is the raw JSON, text or bytes.
   */
  readonly payload: Payload;
  /** Headers that the trigger forwarded, by lowercase name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Labels of the run. */
  readonly labels: readonly string[];
  /** HTTP status of the last response; 0 if there was none. */
  readonly status: number;
  /** Message of the error that was thrown, or the explanation of the server if nothing was thrown. */
  readonly error: string;
  /** Body of the last response as text. */
  readonly response: string;
  /** Id of the run's entry in the dead letter queue. */
  readonly dlqId: string;
  /** Number of retries of the delivery that failed the run. */
  readonly retried: number;
  /** Maximum number of retries of each delivery of the run. */
  readonly maxRetries: number;
}

/**
 * Handles a failed run. Its return value is ignored. If it throws, it is called again, up to the number of retries of
 * the run.
 */
export type FailureFunction<Payload> = (failure: RunFailure<Payload>) => unknown;

/** The notice that a failure function receives. It always contains an error. */
type FunctionNotice = FailureNotice & { readonly error: string };

type ReadOptions<Payload> = PayloadOptions<Payload> & EncryptionOptions;
type JsonObject = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
const isStringList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');
const isHeaderMap = (value: unknown): value is FailureNotice['header'] =>
  isObject(value) && Object.values(value).every(isStringList);

const STRING_FIELDS = ['body', 'error', 'url', 'sourceBody', 'workflowRunId', 'dlqId'] as const;
const NUMBER_FIELDS = ['status', 'retried', 'maxRetries', 'workflowCreatedAt'] as const;

/** Returns the notice, or null if the value is not a failure notice. */
export function readFailureNotice(value: unknown): FunctionNotice | null {
  const isNotice = (notice: JsonObject): notice is JsonObject & FunctionNotice =>
    STRING_FIELDS.every((name) => typeof notice[name] === 'string') &&
    NUMBER_FIELDS.every((name) => typeof notice[name] === 'number') &&
    isHeaderMap(notice.sourceHeader) &&
    (notice.labels === undefined || isStringList(notice.labels));
  return isObject(value) && isNotice(value) ? value : null;
}

function inputOf({ sourceHeader, sourceBody }: FailureNotice): RunInput {
  const { 'content-type': contentTypes = [], ...forwardedHeaders } = Object.fromEntries(
    Object.entries(sourceHeader).map(([name, values]) => [name.toLowerCase(), values]),
  );
  const [contentType] = contentTypes;
  return {
    body: encodeBody(bytesOf({ encoding: 'base64', data: sourceBody })),
    ...(contentType === undefined ? {} : { contentType }),
    headers: Object.fromEntries(Object.entries(forwardedHeaders).map(([name, values]) => [name, values.join(', ')])),
  };
}

/** Returns the message of the error in a reply of the step protocol, or null for any other response. */
function thrownMessage(response: string): string | null {
  try {
    const reply: unknown = parseJson(response);
    if (!isObject(reply) || reply.kind !== 'failed' || !isObject(reply.error)) return null;
    return typeof reply.error.message === 'string' ? reply.error.message : null;
  } catch {
    return null;
  }
}

async function payloadOf<Payload>(input: RunInput, options: ReadOptions<Payload>): Promise<Payload> {
  let { body } = input;
  try {
    body = openPayload(options.encryption, body);
    return await withPayload({ ...input, body }, options, (payload) => payload);
  } catch (error) {
    // The failure function is called again later.
    if (error instanceof DecryptionError) throw error;
    // Without a content type, any body is accepted.
    return withPayload<Payload, Payload>({ body, headers: input.headers }, {}, (payload) => payload);
  }
}

/** Calls the failure function. Rejects with the error that it throws. */
export async function callFailureFunction<Payload>(
  notice: FunctionNotice,
  failureFunction: FailureFunction<Payload>,
  options: ReadOptions<Payload>,
): Promise<void> {
  const input = inputOf(notice);
  const response = textOf({ encoding: 'base64', data: notice.body });
  await failureFunction({
    runId: notice.workflowRunId,
    runCreatedAt: notice.workflowCreatedAt,
    workflowUrl: notice.url,
    payload: await payloadOf(input, options),
    headers: headersOf(input),
    labels: notice.labels ?? [],
    status: notice.status,
    error: thrownMessage(response) ?? notice.error,
    response,
    dlqId: notice.dlqId,
    retried: notice.retried,
    maxRetries: notice.maxRetries,
  });
}
