/** Beside a workflow: a function that the service calls when a run has failed for good. */
import { bytesOf, encodedBody, textOf } from './encoded-body.js';
import { headersOf, type PayloadOptions, withPayload } from './payload.js';
import { type FailureNotice, parseJson, type RunInput } from './protocol.js';

/** How a run failed. */
export interface RunFailure<Payload> {
  readonly runId: string;
  /** Unix ms. */
  readonly runCreatedAt: number;
  readonly workflowUrl: string;
  /**
   * What the run was triggered with, as the workflow gets it. Where it cannot be read so, which may be why the run
   * failed: JSON, text or bytes, as it came.
   */
  readonly payload: Payload;
  /** Headers that the trigger forwarded, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Labels of the run. */
  readonly labels: readonly string[];
  /** HTTP status of the last answer; 0 when there was none. */
  readonly status: number;
  /** What went wrong: the message of the error that was thrown, or the words of the service when nothing was. */
  readonly error: string;
  /** Body of the last answer as text. */
  readonly response: string;
  /** Entry of the run in the dead letter queue. */
  readonly dlqId: string;
  /** How often the delivery was retried that failed the run. */
  readonly retried: number;
  /** Retries that the run allows for each delivery. */
  readonly maxRetries: number;
}

/** What it returns is ignored. When it throws it is called again, as the retries of the run say. */
export type FailureFunction<Payload> = (failure: RunFailure<Payload>) => unknown;

/** As the failure function is told. */
type ToldNotice = FailureNotice & { readonly error: string };

type Shape = Readonly<Record<string, unknown>>;
const isShape = (value: unknown): value is Shape => typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
const isHeaderMap = (value: unknown): value is FailureNotice['header'] => isShape(value) && Object.values(value).every(isTexts);

const TEXTS = ['body', 'error', 'url', 'sourceBody', 'workflowRunId', 'dlqId'] as const;
const NUMBERS = ['status', 'retried', 'maxRetries', 'workflowCreatedAt'] as const;

/** Null when it is no failure notice. */
export function readFailureNotice(value: unknown): ToldNotice | null {
  const isNotice = (notice: Shape): notice is Shape & ToldNotice =>
    TEXTS.every((name) => typeof notice[name] === 'string') &&
    NUMBERS.every((name) => typeof notice[name] === 'number') &&
    isHeaderMap(notice.sourceHeader) &&
    (notice.labels === undefined || isTexts(notice.labels));
  return isShape(value) && isNotice(value) ? value : null;
}

function inputOf({ sourceHeader, sourceBody }: FailureNotice): RunInput {
  const { 'content-type': contentTypes = [], ...forwarded } = Object.fromEntries(
    Object.entries(sourceHeader).map(([name, values]) => [name.toLowerCase(), values]),
  );
  const [contentType] = contentTypes;
  return {
    body: encodedBody(bytesOf({ encoding: 'base64', data: sourceBody })),
    ...(contentType === undefined ? {} : { contentType }),
    headers: Object.fromEntries(Object.entries(forwarded).map(([name, values]) => [name, values.join(', ')])),
  };
}

/** The message of the error in an answer of the step protocol; null when the answer is something else. */
function thrownMessage(response: string): string | null {
  try {
    const reply: unknown = parseJson(response);
    if (!isShape(reply) || reply.kind !== 'failed' || !isShape(reply.error)) return null;
    return typeof reply.error.message === 'string' ? reply.error.message : null;
  } catch {
    return null;
  }
}

async function payloadOf<Payload>(input: RunInput, options: PayloadOptions<Payload>): Promise<Payload> {
  try {
    return await withPayload(input, options, (payload) => payload);
  } catch {
    // Without a content type nothing that the body may be is refused.
    const { contentType: _unsure, ...asItCame } = input;
    return withPayload<Payload, Payload>(asItCame, {}, (payload) => payload);
  }
}

/** Calls the failure function. Rejects with what it throws. */
export async function tellFailure<Payload>(
  notice: ToldNotice,
  failureFunction: FailureFunction<Payload>,
  options: PayloadOptions<Payload>,
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
