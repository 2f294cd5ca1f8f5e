/** Reads a step request from parsed JSON. Expected errors are return values. */
import {
  type CheckpointLimits,
  type CheckRequest,
  type JournalEntry,
  PROTOCOL_VERSION,
  type RunInput,
  type StepRequest,
  type TraceContext,
} from '../protocol.js';

/** A step request, or the reason why the value is not a valid one. */
export type StepRequestResult =
  | { readonly ok: true; readonly request: StepRequest }
  | { readonly ok: false; readonly code: 'unsupported-protocol' | 'bad-request'; readonly message: string };

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

function isInput(value: unknown): value is RunInput {
  if (!isObject(value) || !isObject(value.body) || !isObject(value.headers)) return false;
  const { encoding, data } = value.body;
  return (
    (encoding === 'utf8' || encoding === 'base64') &&
    typeof data === 'string' &&
    (value.contentType === undefined || typeof value.contentType === 'string') &&
    Object.values(value.headers).every((header) => typeof header === 'string')
  );
}

const isRun = (value: unknown): value is StepRequest['run'] =>
  isObject(value) &&
  typeof value.key === 'string' &&
  typeof value.id === 'string' &&
  isCount(value.createdAt) &&
  typeof value.workflowUrl === 'string' &&
  Array.isArray(value.labels) &&
  value.labels.every((label) => typeof label === 'string');

const isEntry = (value: unknown): value is JournalEntry =>
  isObject(value) &&
  isCount(value.stepId) &&
  typeof value.name === 'string' &&
  typeof value.type === 'string' &&
  (value.out === undefined || typeof value.out === 'string');

function isJournal(value: unknown): value is StepRequest['journal'] {
  return (
    isObject(value) &&
    isCount(value.from) &&
    isCount(value.length) &&
    (value.worker === undefined || typeof value.worker === 'string') &&
    (value.digest === undefined || isCount(value.digest)) &&
    Array.isArray(value.entries) &&
    value.from + value.entries.length === value.length &&
    value.entries.every(isEntry)
  );
}

const isCheckpoint = (value: unknown): value is CheckpointLimits =>
  isObject(value) && isCount(value.maxSteps) && isCount(value.maxChars);

const isTrace = (value: unknown): value is TraceContext =>
  isObject(value) &&
  typeof value.traceparent === 'string' &&
  (value.tracestate === undefined || typeof value.tracestate === 'string');

/** Returns the error for a request with another protocol version. */
export function unsupportedProtocol(serverVersion: unknown): {
  readonly ok: false;
  readonly code: 'unsupported-protocol';
  readonly message: string;
} {
  const isServerNewer = Number(serverVersion) > PROTOCOL_VERSION;
  return {
    ok: false,
    code: 'unsupported-protocol',
    message:
      `the server uses version ${String(serverVersion)} of the step protocol, but this endpoint supports only version ${PROTOCOL_VERSION}: ` +
      `upgrade ${isServerNewer ? '@everstep/sdk in this app' : 'the server'}`,
  };
}

/** Returns the name of the first invalid field, or null. */
function firstInvalidField(value: JsonObject): string | null {
  if (!isRun(value.run)) return 'run';
  if (typeof value.messageId !== 'string') return 'messageId';
  if (!isCount(value.retried)) return 'retried';
  if (!isCount(value.maxRetries)) return 'maxRetries';
  if (value.target !== null && !(isCount(value.target) && value.target > 0)) return 'target';
  if (!isCount(value.known) || value.known < 1) return 'known';
  if (!isJournal(value.journal)) return 'journal';
  if (value.checkpoint !== undefined && !isCheckpoint(value.checkpoint)) return 'checkpoint';
  if (value.trace !== undefined && !isTrace(value.trace)) return 'trace';
  if (value.journal.from === 0 ? !isInput(value.input) : value.input !== undefined) return 'input';
  return null;
}

const isStepRequest = (value: JsonObject): value is JsonObject & StepRequest => firstInvalidField(value) === null;

/** Validates a step request. */
export function readStepRequest(value: unknown): StepRequestResult {
  if (!isObject(value))
    return { ok: false, code: 'bad-request', message: 'the body is not a step request: it is not a JSON object' };
  if (value.protocol !== PROTOCOL_VERSION) return unsupportedProtocol(value.protocol);
  if (isStepRequest(value)) return { ok: true, request: value };
  return {
    ok: false,
    code: 'bad-request',
    message: `the body is not a step request: "${firstInvalidField(value)}" is missing or malformed`,
  };
}

const isOpenStep = (value: unknown): boolean =>
  isObject(value) && isCount(value.stepId) && typeof value.name === 'string' && typeof value.type === 'string';

const isCheck = (value: JsonObject): value is JsonObject & CheckRequest =>
  isRun(value.run) &&
  Array.isArray(value.journal) &&
  value.journal.every(isEntry) &&
  Array.isArray(value.open) &&
  value.open.every(isOpenStep) &&
  isInput(value.input) &&
  isCount(value.limitMs);

/** Returns the check request, or null if the value is something else, such as a step request. */
export function readCheckRequest(value: unknown): CheckRequest | null {
  return isObject(value) && value.protocol === PROTOCOL_VERSION && value.kind === 'check' && isCheck(value) ? value : null;
}
