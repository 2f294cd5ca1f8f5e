/** Reads the fields of a frame: each as the type it must have, or a Problem whose words name the field. */
import { JsonBoundsError, parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import { fitsInPaths, NOT_IN_PATHS } from './ids-in-paths.js';

export class Problem extends Error {
  /** Without what the frame has. */
  readonly words: string;

  /** `found`: what the frame has instead, quoted. */
  constructor(words: string, found?: string) {
    super(found === undefined ? words : `${words}, and is ${found}`);
    this.words = words;
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
    throw new Problem(`${where} has ${value.length} items, over the limit of ${LIMITS.maxPlannedAtOnce} (maxPlannedAtOnce)`);
  }
  return value;
}

export function text(value: unknown, where: string): string {
  if (typeof value !== 'string') throw new Problem(`${where} must be a string`, shown(value));
  return value;
}

export function integer(value: unknown, where: string, least: number, most: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new Problem(`${where} must be an integer from ${least} to ${most}`, shown(value));
}

/** A time in ms; fractions are rounded up, since nothing may happen too early. */
export function milliseconds(value: unknown, where: string, least: number, most: number): number {
  if (typeof value === 'number' && value >= least && value <= most) return Math.ceil(value);
  throw new Problem(`${where} must be a number of ms from ${least} to ${most}`, shown(value));
}

/** JSON text, or absent. It is stored and passed on as it is, so it must be readable later. */
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

/** Absent, or read by `read`. */
export function optional<Value>(
  value: unknown,
  where: string,
  read: (value: unknown, where: string) => Value,
): Value | undefined {
  return value === undefined ? undefined : read(value, where);
}

/** A word by which something is named in paths. */
export function id(value: unknown, where: string, most: number): string {
  const given = word(value, where, most);
  if (fitsInPaths(given)) return given;
  throw new Problem(`${where} ${NOT_IN_PATHS}`);
}

/** With 1 to `most` characters, and nothing that a store could not give back. */
export function word(value: unknown, where: string, most: number): string {
  const given = text(value, where);
  if (given.includes('\u0000') || /\p{Surrogate}/u.test(given)) {
    throw new Problem(`${where} must not have U+0000 or half a surrogate pair`, shown(given));
  }
  if (given.length > 0 && given.length <= most) return given;
  throw new Problem(`${where} must have 1 to ${most} characters, and has ${given.length}`);
}
