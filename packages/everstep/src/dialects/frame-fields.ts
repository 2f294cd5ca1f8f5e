/** Reads the fields of a frame. Each function returns the expected type or throws a Problem that names the field. */
import { JsonBoundsError, parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import { fitsInPaths, NOT_IN_PATHS } from './ids-in-paths.js';

export class Problem extends Error {
  /** The message without the quoted value. */
  readonly summary: string;

  /** `found` is the invalid value, quoted. */
  constructor(summary: string, found?: string) {
    super(found === undefined ? summary : `${summary}, but is ${found}`);
    this.summary = summary;
  }
}

export type Fields = Readonly<Record<string, unknown>>;

export function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function fields(value: unknown, where: string): Fields {
  if (!isFields(value)) throw new Problem(`${where} must be an object`, shown(value));
  return value;
}

export function list(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Problem(`${where} must be an array`, shown(value));
  if (value.length > LIMITS.maxPlannedAtOnce) {
    throw new Problem(`${where} has ${value.length} items, but the limit is ${LIMITS.maxPlannedAtOnce} (maxPlannedAtOnce)`);
  }
  return value;
}

export function text(value: unknown, where: string): string {
  if (typeof value !== 'string') throw new Problem(`${where} must be a string`, shown(value));
  return value;
}

export function integer(value: unknown, where: string, min: number, max: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new Problem(`${where} must be an integer from ${min} to ${max}`, shown(value));
}

/** Reads a time in ms. Fractions are rounded up, so that nothing happens too early. */
export function milliseconds(value: unknown, where: string, min: number, max: number): number {
  if (typeof value === 'number' && value >= min && value <= max) return Math.ceil(value);
  throw new Problem(`${where} must be a number of ms from ${min} to ${max}`, shown(value));
}

/** Reads optional JSON text. It is validated here, because it is stored and forwarded unchanged. */
export function jsonText(value: unknown, where: string): string | undefined {
  if (value === undefined) return undefined;
  const json = text(value, where);
  const limit = LIMITS.maxStepResultBytes;
  if (json.length > limit || (json.length * 3 > limit && Buffer.byteLength(json) > limit)) {
    throw new Problem(`${where} has ${Buffer.byteLength(json)} bytes, over the limit of ${limit} (maxStepResultBytes)`);
  }
  try {
    parseJson(json);
  } catch (error) {
    if (error instanceof JsonBoundsError) throw new Problem(`${where} is JSON text that exceeds a limit: ${error.message}`);
    throw new Problem(`${where} must be JSON text`, shown(json));
  }
  return json;
}

/** Returns undefined if the value is absent, else reads it with `read`. */
export function optional<Value>(
  value: unknown,
  where: string,
  read: (value: unknown, where: string) => Value,
): Value | undefined {
  return value === undefined ? undefined : read(value, where);
}

/** Reads an id that can be part of a URL path. */
export function id(value: unknown, where: string, max: number): string {
  const given = word(value, where, max);
  if (fitsInPaths(given)) return given;
  throw new Problem(`${where} ${NOT_IN_PATHS}`);
}

/** Reads text of 1 to `max` characters that every store can return unchanged. */
export function word(value: unknown, where: string, max: number): string {
  const given = text(value, where);
  if (given.includes('\u0000') || /\p{Surrogate}/u.test(given)) {
    throw new Problem(`${where} must not contain U+0000 or an unpaired surrogate`, shown(given));
  }
  if (given.length > 0 && given.length <= max) return given;
  throw new Problem(`${where} must have 1 to ${max} characters, but has ${given.length}`);
}
