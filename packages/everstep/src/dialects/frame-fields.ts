/**
 * Reads the fields of a frame. Each function returns the expected type, or throws an InvalidFieldError that contains the path of
 * the field.
 */
import { JsonBoundsError, parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import { isPathSafe, PATH_SAFE_REQUIREMENT } from './path-safe-ids.js';

export class InvalidFieldError extends Error {
  /** The message without the quoted value. */
  readonly summary: string;

  /** `invalidValue` is the text of `describeValue`. */
  constructor(summary: string, invalidValue?: string) {
    super(invalidValue === undefined ? summary : `${summary}, but is ${invalidValue}`);
    this.summary = summary;
  }
}

/** A value exceeds a limit. */
export class FieldLimitError extends InvalidFieldError {}

export type Fields = Readonly<Record<string, unknown>>;

/** Returns a value as an error text shows it: as truncated JSON, or `missing`. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'missing';
  const json = JSON.stringify(value);
  return json.length > 60 ? `${json.slice(0, 60)}...` : json;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readFields(value: unknown, path: string): Fields {
  if (!isFields(value)) throw new InvalidFieldError(`${path} must be an object`, describeValue(value));
  return value;
}

export function readList(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new InvalidFieldError(`${path} must be an array`, describeValue(value));
  if (value.length > LIMITS.maxPlannedAtOnce) {
    throw new FieldLimitError(
      `${path} has ${value.length} items, but the limit is ${LIMITS.maxPlannedAtOnce} (maxPlannedAtOnce)`,
    );
  }
  return value;
}

export function readText(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new InvalidFieldError(`${path} must be a string`, describeValue(value));
  return value;
}

export function integer(value: unknown, path: string, min: number, max: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new InvalidFieldError(`${path} must be an integer from ${min} to ${max}`, describeValue(value));
}

/** Reads a time in ms. Fractions are rounded up, so that nothing happens too early. */
export function milliseconds(value: unknown, path: string, min: number, max: number): number {
  if (typeof value === 'number' && value >= min && value <= max) return Math.ceil(value);
  throw new InvalidFieldError(`${path} must be a number of ms from ${min} to ${max}`, describeValue(value));
}

/** Reads optional JSON text, and validates it, because it is stored and forwarded unchanged. */
export function jsonText(value: unknown, path: string): string | undefined {
  if (value === undefined) return undefined;
  const json = readText(value, path);
  const limit = LIMITS.maxStepResultBytes;
  if (json.length > limit || (json.length * 3 > limit && Buffer.byteLength(json) > limit)) {
    throw new FieldLimitError(`${path} has ${Buffer.byteLength(json)} bytes, over the limit of ${limit} (maxStepResultBytes)`);
  }
  try {
    parseJson(json);
  } catch (error) {
    if (error instanceof JsonBoundsError)
      throw new FieldLimitError(`${path} is JSON text that exceeds a limit: ${error.message}`);
    throw new InvalidFieldError(`${path} must be JSON text`, describeValue(json));
  }
  return json;
}

/** Returns undefined if the value is absent. Otherwise reads it with `read`. */
export function optional<Value>(value: unknown, path: string, read: (value: unknown, path: string) => Value): Value | undefined {
  return value === undefined ? undefined : read(value, path);
}

/** Reads an id that can be part of a URL path. */
export function readId(value: unknown, path: string, max: number): string {
  const idText = boundedText(value, path, max);
  if (isPathSafe(idText)) return idText;
  throw new InvalidFieldError(`${path} ${PATH_SAFE_REQUIREMENT}`);
}

/** Reads text of 1 to `max` characters that every store can return unchanged. */
export function boundedText(value: unknown, path: string, max: number): string {
  const content = readText(value, path);
  if (content.includes('\u0000') || /\p{Surrogate}/u.test(content)) {
    throw new InvalidFieldError(`${path} must not contain U+0000 or an unpaired surrogate`, describeValue(content));
  }
  if (content.length > 0 && content.length <= max) return content;
  throw new InvalidFieldError(`${path} must have 1 to ${max} characters, but has ${content.length}`);
}
