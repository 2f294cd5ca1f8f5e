/**
 * Reads a reply frame. The parser is handwritten instead of based on a schema: it runs for every step, its errors
 * address the author of the endpoint, and several rules relate the reply to its request. Unknown fields are ignored
 * for forward compatibility. Known fields must be valid.
 */
import {
  type CheckpointLimits,
  type FailedReply,
  type Hold,
  JsonBoundsError,
  PROTOCOL_VERSION,
  type ProgressReply,
  parseJson,
  type RefusedReply,
  type RunEnd,
  STEP_TYPES,
  type StepReply,
  type StepRequest,
  type StepResult,
  type StepType,
  truncateText,
} from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { readError } from '../../responses/reported-error.js';
import {
  describeValue,
  FieldLimitError,
  type Fields,
  InvalidFieldError,
  integer,
  jsonText,
  milliseconds,
  readFields,
  readList,
  readText,
} from '../frame-fields.js';
import { plannedStep } from './parse-planned-step.js';

export type ParsedReply =
  | { readonly ok: true; readonly reply: StepReply }
  /** `summary` is the problem without quotes from the body. `exceedsLimit` is true if the reply is well-formed but too large. */
  | { readonly ok: false; readonly problem: string; readonly summary: string; readonly exceedsLimit: boolean };

const KNOWN_STEP_TYPES: ReadonlyMap<unknown, StepType> = new Map(STEP_TYPES.map((type) => [type, type]));
const REFUSALS: ReadonlyMap<unknown, RefusedReply['code']> = new Map(
  (['unsupported-protocol', 'journal-mismatch', 'bad-request'] satisfies RefusedReply['code'][]).map((code) => [code, code]),
);
const NOT_JSON = 'the body is not JSON';
/** The limits of a request that does not accept several results. */
const ONE_RESULT: CheckpointLimits = { maxSteps: 1, maxChars: 0 };
const MAX_WORKER_LENGTH = 128;

function readStepType(value: unknown, path: string): StepType {
  const type = KNOWN_STEP_TYPES.get(value);
  if (type === undefined)
    throw new InvalidFieldError(`${path} must be a step type (${STEP_TYPES.join(', ')})`, describeValue(value));
  return type;
}

function readStepName(value: unknown, path: string): string {
  const name = readText(value, path);
  // Stores cannot return such text unchanged, so the journal would not match.
  if (name.includes('\u0000') || /\p{Surrogate}/u.test(name)) {
    throw new InvalidFieldError(`${path} must not contain U+0000 or an unpaired surrogate`, describeValue(name));
  }
  if (name.length > 0 && name.length <= LIMITS.maxStepNameLength) return name;
  throw new InvalidFieldError(
    `${path} must have 1 to ${LIMITS.maxStepNameLength} characters (maxStepNameLength), but has ${name.length}`,
  );
}

function readStepHead(step: Fields, path: string): { stepId: number; name: string; type: StepType } {
  return {
    stepId: integer(step.stepId, `${path}.stepId`, 1, LIMITS.maxJournalSteps + LIMITS.maxPlannedAtOnce),
    name: readStepName(step.name, `${path}.name`),
    type: readStepType(step.type, `${path}.type`),
  };
}

/** Returns the first position at or after `from` that is not recorded. */
function nextFreePosition(from: number, { ahead }: StepRequest): number {
  let position = from;
  while (ahead?.includes(position)) position++;
  return position;
}

/** Reads when a step ran, relative to the start of the request. */
function readRanMs(value: unknown, path: string): StepResult['ranMs'] {
  if (value === undefined) return undefined;
  const times = readList(value, path);
  if (times.length !== 2)
    throw new InvalidFieldError(`${path} must contain the start and the end of the step`, describeValue(value));
  const startMs = integer(times[0], `${path}[0]`, 0, Number.MAX_SAFE_INTEGER);
  return [startMs, integer(times[1], `${path}[1]`, startMs, Number.MAX_SAFE_INTEGER)];
}

/**
 * Reads completed steps. New step ids must follow `known` without gaps. Results after the first belong to new steps that the
 * code requested during this request, and only as many as the request allows.
 */
function readDone(value: unknown, request: StepRequest): { readonly done: readonly StepResult[]; readonly nextStepId: number } {
  const { maxSteps, maxChars } = request.checkpoint ?? ONE_RESULT;
  const items = readList(value, 'done');
  if (items.length > maxSteps)
    throw new InvalidFieldError(`done has ${items.length} results, but the limit is ${maxSteps} (maxCheckpointSteps)`);
  const stepIds = new Set<number>();
  let nextStepId = request.known;
  let chars = 0;
  const done = items.map((item, index): StepResult => {
    const path = `done[${index}]`;
    if (index > 0 && chars >= maxChars)
      throw new InvalidFieldError(
        `${path} follows results of ${chars} characters, but the limit is ${maxChars} (maxCheckpointChars)`,
      );
    const step = readFields(item, path);
    const head = readStepHead(step, path);
    const { stepId, type } = head;
    const out = jsonText(step.out, `${path}.out`);
    const ranMs = readRanMs(step.ranMs, `${path}.ranMs`);
    if (stepIds.has(stepId)) throw new InvalidFieldError(`${path} reports step ${stepId} a second time`);
    stepIds.add(stepId);
    if (stepId > nextStepId)
      throw new InvalidFieldError(`${path} reports step ${stepId}, but the next new step is ${nextStepId}`);
    if (index > 0 && stepId < nextStepId)
      throw new InvalidFieldError(`${path} reports step ${stepId}, which was planned before, but only new steps can follow`);
    if (index === 0 && items.length > 1 && stepId < nextStepId && stepId !== request.target)
      throw new InvalidFieldError(`${path} reports step ${stepId}, which was not requested, and steps after it`);
    if (index > 0 && type !== 'Run') throw new InvalidFieldError(`${path} has the type ${type}, but only Run steps can follow`);
    if (stepId === nextStepId) nextStepId = nextFreePosition(nextStepId + 1, request);
    chars += head.name.length + (out?.length ?? 0);
    return { ...head, ...(out === undefined ? {} : { out }), ...(ranMs ? { ranMs } : {}) };
  });
  return { done, nextStepId };
}

function readEnd(value: unknown): RunEnd | undefined {
  if (value === undefined) return undefined;
  const end = readFields(value, 'end');
  if (end.kind === 'canceled') return { kind: 'canceled' };
  if (end.kind !== 'finished') throw new InvalidFieldError('end.kind must be "finished" or "canceled"', describeValue(end.kind));
  const result = jsonText(end.result, 'end.result');
  return result === undefined ? { kind: 'finished' } : { kind: 'finished', result };
}

/**
 * Reads which worker holds the run, and up to which journal entry. The run may have applied more entries than this request
 * contains, because requests for parallel steps run concurrently.
 */
function readHold(value: unknown): Hold | undefined {
  if (value === undefined) return undefined;
  const hold = readFields(value, 'hold');
  const worker = readText(hold.worker, 'hold.worker');
  if (worker.length === 0 || worker.length > MAX_WORKER_LENGTH)
    throw new InvalidFieldError(`hold.worker must have 1 to ${MAX_WORKER_LENGTH} characters`);
  return { worker, through: integer(hold.through, 'hold.through', 0, LIMITS.maxJournalSteps) };
}

const readFailureFunction = (frame: Fields): { readonly failureFunction?: true } =>
  frame.failureFunction === true ? { failureFunction: true } : {};

function readProgress(frame: Fields, request: StepRequest, now: number): ProgressReply {
  const base = integer(frame.base, 'base', request.journal.length, request.journal.length);
  const { done, nextStepId } = readDone(frame.done, request);
  if (typeof frame.advanced !== 'boolean')
    throw new InvalidFieldError('advanced must be true or false', describeValue(frame.advanced));
  let nextPlannedId = nextStepId;
  const planned = readList(frame.planned, 'planned').map((item, index) => {
    const path = `planned[${index}]`;
    const step = readFields(item, path);
    const head = readStepHead(step, path);
    if (head.stepId !== nextPlannedId) {
      throw new InvalidFieldError(`${path} plans step ${head.stepId}, but the next planned step must be ${nextPlannedId}`);
    }
    nextPlannedId = nextFreePosition(nextPlannedId + 1, request);
    return plannedStep(head, step, path, now);
  });
  const end = readEnd(frame.end);
  const hold = readHold(frame.hold);
  return {
    protocol: PROTOCOL_VERSION,
    kind: 'progress',
    base,
    done,
    advanced: frame.advanced,
    planned,
    ...(end ? { end } : {}),
    ...(hold ? { hold } : {}),
    ...readFailureFunction(frame),
  };
}

function readRetry(value: unknown): FailedReply['retry'] {
  const retry = readFields(value, 'retry');
  switch (retry.kind) {
    case 'backoff':
    case 'never':
      return { kind: retry.kind };
    case 'after':
      return {
        kind: 'after',
        delayMs: Math.min(LIMITS.maxRetryDelayMs, milliseconds(retry.delayMs, 'retry.delayMs', 0, Number.MAX_VALUE)),
      };
    default:
      throw new InvalidFieldError('retry.kind must be "backoff", "after" or "never"', describeValue(retry.kind));
  }
}

function readFailed(frame: Fields, request: StepRequest): FailedReply {
  const { done } = readDone(frame.done, request);
  const step = frame.step === undefined ? undefined : readStepHead(readFields(frame.step, 'step'), 'step');
  // An endpoint that could not read or verify the request does not know the base. Without a step the base is not
  // used.
  const usesBase = done.length > 0 || step !== undefined;
  const { length } = request.journal;
  const base = integer(frame.base, 'base', usesBase ? length : 0, usesBase ? length : Number.MAX_SAFE_INTEGER);
  const error = readFields(frame.error, 'error');
  const hold = readHold(frame.hold);
  return {
    protocol: PROTOCOL_VERSION,
    kind: 'failed',
    base,
    done,
    ...(step ? { step } : {}),
    error: readError(readText(error.name, 'error.name'), readText(error.message, 'error.message'), error),
    retry: readRetry(frame.retry),
    ...(hold ? { hold } : {}),
    ...readFailureFunction(frame),
  };
}

function readRefused(frame: Fields): RefusedReply {
  const code = REFUSALS.get(frame.code);
  if (code === undefined)
    throw new InvalidFieldError(`code must be one of ${[...REFUSALS.values()].join(', ')}`, describeValue(frame.code));
  const message = truncateText(readText(frame.message, 'message'), LIMITS.maxKeptErrorLength);
  return { protocol: PROTOCOL_VERSION, kind: 'refused', code, message };
}

function readReplyFrame(frame: Fields, request: StepRequest, now: number): StepReply {
  if (frame.protocol !== PROTOCOL_VERSION)
    throw new InvalidFieldError(`protocol must be ${PROTOCOL_VERSION}`, describeValue(frame.protocol));
  switch (frame.kind) {
    case 'progress':
      return readProgress(frame, request, now);
    case 'failed':
      return readFailed(frame, request);
    case 'refused':
      return readRefused(frame);
    case 'journal-needed':
      return { protocol: PROTOCOL_VERSION, kind: 'journal-needed' };
    default:
      throw new InvalidFieldError('kind must be "progress", "failed", "refused" or "journal-needed"', describeValue(frame.kind));
  }
}

/** Reads the body of a response to `request`. `now`, in Unix ms, limits how far in the future a wake time may be. */
export function parseReply(body: string, request: StepRequest, now: number): ParsedReply {
  let frame: unknown;
  try {
    frame = parseJson(body);
  } catch (error) {
    if (error instanceof JsonBoundsError) {
      const problem = `the body is JSON that exceeds a limit: ${error.message}`;
      return { ok: false, problem, summary: problem, exceedsLimit: true };
    }
    return { ok: false, problem: NOT_JSON, summary: NOT_JSON, exceedsLimit: false };
  }
  return readReply(frame, request, now);
}

/** Reads a reply that was already parsed with `parseJson`, which checks its bounds. */
export function readReply(frame: unknown, request: StepRequest, now: number): ParsedReply {
  try {
    return { ok: true, reply: readReplyFrame(readFields(frame, 'the body'), request, now) };
  } catch (problem) {
    if (!(problem instanceof InvalidFieldError)) throw problem;
    const { message, summary } = problem;
    return { ok: false, problem: message, summary, exceedsLimit: problem instanceof FieldLimitError };
  }
}
