/** Reads the bodies of submitted steps: results, plans of parallel steps, and sleeps. Throws InvalidFieldError. */
import { JsonBoundsError, type PlannedStep, parseJson, STEP_TYPES, type StepResult, type StepType } from '@everstep/sdk/protocol';
import { LIMITS } from '../../../config/limits.js';
import {
  boundedText,
  describeValue,
  type Fields,
  InvalidFieldError,
  integer,
  jsonText,
  readFields,
} from '../../../dialects/frame-fields.js';

const MAX_STEP_ID = LIMITS.maxJournalSteps + LIMITS.maxPlannedAtOnce;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^(?:\d+(?:\.\d+)?[smhd])+$/;
const DURATION_PART = /(\d+(?:\.\d+)?)([smhd])/g;

const KNOWN_TYPES: ReadonlyMap<unknown, StepType> = new Map(STEP_TYPES.map((type) => [type, type]));

export interface StepHead {
  readonly stepId: number;
  readonly name: string;
  readonly type: StepType;
}

/** Reads a number of seconds, or a duration such as `10s` or `1d2h`. Returns ms, rounded up. */
export function durationMs(value: unknown, field: string, maxMs: number): number {
  let ms = Number.NaN;
  if (typeof value === 'number') ms = value * 1_000;
  else if (typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value)) ms = Number(value) * 1_000;
  else if (typeof value === 'string' && DURATION.test(value)) {
    ms = 0;
    for (const [, count, unit = ''] of value.matchAll(DURATION_PART)) ms += Number(count) * (UNIT_MS[unit] ?? 0);
  }
  if (ms >= 0 && ms <= maxMs) return Math.ceil(ms);
  throw new InvalidFieldError(
    `${field} must be a number of seconds or a duration such as 30s or 1d2h, at most ${maxMs / 86_400_000} days`,
    describeValue(value),
  );
}

function typeOf(value: unknown): StepType {
  const type = KNOWN_TYPES.get(value);
  if (type) return type;
  throw new InvalidFieldError(`stepType must be one of ${STEP_TYPES.join(', ')}`, describeValue(value));
}

export function stepHead(step: Fields, idField: 'stepId' | 'targetStep' = 'stepId'): StepHead {
  return {
    stepId: integer(step[idField], idField, 1, MAX_STEP_ID),
    name: boundedText(step.stepName, 'stepName', LIMITS.maxStepNameLength),
    type: typeOf(step.stepType),
  };
}

function sleepOf({ stepId, name }: StepHead, step: Fields, now: number): PlannedStep {
  if (step.stepType === 'SleepFor')
    return { stepId, name, type: 'SleepFor', sleepMs: durationMs(step.sleepFor, 'sleepFor', LIMITS.maxSleepMs) };
  const { sleepUntil } = step;
  const wakeAt = typeof sleepUntil === 'number' ? Math.ceil(sleepUntil * 1_000) : Number.NaN;
  if (!(wakeAt <= now + LIMITS.maxSleepMs)) {
    throw new InvalidFieldError(
      `sleepUntil must be Unix seconds, at most ${LIMITS.maxSleepMs / 86_400_000} days ahead`,
      describeValue(sleepUntil),
    );
  }
  return { stepId, name, type: 'SleepUntil', wakeAt: Math.max(0, wakeAt) };
}

export type ReadStep =
  | { readonly kind: 'done'; readonly step: StepResult }
  | { readonly kind: 'planned'; readonly step: PlannedStep };

/** Reads one submitted step. `now` is in Unix ms. */
export function readStep(body: Uint8Array, now: number): ReadStep {
  let json: unknown;
  try {
    json = parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch (error) {
    if (error instanceof JsonBoundsError) throw new InvalidFieldError(`the body is JSON that exceeds a limit: ${error.message}`);
    throw new InvalidFieldError('the body must be a step in JSON format');
  }
  const step = readFields(json, 'the body');
  const isPlan = step.stepId === 0;
  const head = stepHead(step, isPlan ? 'targetStep' : 'stepId');
  const { stepId, name, type } = head;
  if (type === 'SleepFor' || type === 'SleepUntil') return { kind: 'planned', step: sleepOf(head, step, now) };
  // Everstep calls the endpoint for the planned step. The endpoint then executes it or submits its parameters.
  if (isPlan) return { kind: 'planned', step: { stepId, name, type: 'Run', ...(type === 'Run' ? {} : { asks: type }) } };
  if (type === 'Run' || type === 'Notify' || type === 'CreateWebhook') {
    const out = jsonText(step.out, 'out');
    return { kind: 'done', step: { stepId, name, type, ...(out === undefined ? {} : { out }) } };
  }
  throw new InvalidFieldError(`steps of type ${type} cannot be submitted this way`);
}
