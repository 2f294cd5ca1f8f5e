/** Parsers for command line arguments. Each throws UsageError with the allowed values. */
import { readFile } from 'node:fs/promises';
import { UsageError } from './exit-codes.js';

export const wholeNumber =
  (name: string, minimum = 0) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < minimum) {
      throw new UsageError(`${name} must be a whole number of ${minimum} or more; got "${text}"`);
    }
    return value;
  };

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
type Unit = keyof typeof UNIT_MS;

const DATE_FORM = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?:(:\d\d)(\.\d+)?)?(?:Z|([+-])([01]\d|2[0-3]):?([0-5]\d))?)?$/;

/** Returns the time in Unix ms, or NaN if the text is invalid. Without a time zone, the time is UTC, as in printed tables. */
function parseDate(text: string): number {
  const match = DATE_FORM.exec(text);
  if (!match) return Number.NaN;
  const [, day, time = '00:00', seconds = ':00', fraction = '', sign, hours = '0', minutes = '0'] = match;
  const utcText = `${day}T${time}${seconds}`;
  const utcMs = Date.parse(`${utcText}${fraction}Z`);
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(utcMs) || !new Date(utcMs).toISOString().startsWith(utcText)) return Number.NaN;
  const offsetMs = Number(hours) * UNIT_MS.h + Number(minutes) * UNIT_MS.m;
  return sign === '-' ? utcMs + offsetMs : utcMs - offsetMs;
}

/** A year or a day without separators, such as 2026 or 20260501, is not the Unix ms of a time that anyone means. */
const YEAR_OR_DAY_FORM = /^(?:19|20)\d\d(?:\d{4})?$/;

/**
 * Parses Unix ms, or a date such as 2026-05-01, 2026-05-01T12:00:00Z or `2026-05-01 12:00:00` (UTC without a time zone).
 */
export const timestampMs =
  (name: string) =>
  (text: string): number => {
    if (/^\d{1,15}$/.test(text) && !YEAR_OR_DAY_FORM.test(text)) return Number(text);
    const atMs = parseDate(text);
    if (Number.isNaN(atMs))
      throw new UsageError(
        `${name} must be Unix milliseconds or a date such as 2026-05-01, "2026-05-01 12:00:00" (UTC) or 2026-05-01T12:00:00+02:00; got "${text}"`,
      );
    return atMs;
  };

/** Parses a duration such as `30s`, `7d` or `1d12h` into ms. */
export const durationMs =
  (name: string) =>
  (text: string): number => {
    if (!/^(?:\d+(?:ms|[smhd]))+$/.test(text))
      throw new UsageError(`${name} must be a duration such as 30s, 12h or 7d; got "${text}"`);
    let lengthMs = 0;
    for (const [, value, unit] of text.matchAll(/(\d+)(ms|[smhd])/g)) lengthMs += Number(value) * UNIT_MS[unit as Unit];
    return lengthMs;
  };

/** Accepts one of the values in upper or lower case, with or without its prefix: `RUN_FAILED` or `failed`. */
export const choice =
  (name: string, values: readonly string[]) =>
  (text: string): string => {
    const upperText = text.toUpperCase();
    const match = values.find((value) => {
      const upperValue = value.toUpperCase();
      return upperValue === upperText || upperValue.slice(upperValue.indexOf('_') + 1) === upperText;
    });
    if (match === undefined) throw new UsageError(`${name} must be one of ${values.join(', ')}; got "${text}"`);
    return match;
  };

/** Collects the values of an option that may be repeated. */
export const collectValue = (text: string, previous: readonly string[] | undefined): readonly string[] => [
  ...(previous ?? []),
  text,
];

/** Collects `name: value` pairs of an option that may be repeated. */
export function collectHeader(
  text: string,
  previous: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const colon = text.indexOf(':');
  const name = text.slice(0, colon).trim();
  if (colon < 1 || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    throw new UsageError(`--header must have the form "Name: value"; got "${text}"`);
  }
  return { ...previous, [name]: text.slice(colon + 1).trim() };
}

/** Reads a body: the text itself, `@file` for the content of a file, or `-` for standard input. */
export async function readBody(text: string): Promise<string | Uint8Array> {
  if (text === '-') {
    const chunks: Uint8Array[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
  return text.startsWith('@') ? readBodyFile(text.slice(1)) : text;
}

/** Reads a body as `readBody` does. It must be UTF-8. `subject` names it in errors. */
export async function readTextBody(subject: string, text: string): Promise<string> {
  const body = await readBody(text);
  if (typeof body === 'string') return body;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new UsageError(`${subject} must be UTF-8 text`);
  }
}

export async function readBodyFile(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`cannot read the body from ${path}: ${error instanceof Error ? error.message : error}`);
  }
}

export function isJson(body: string | Uint8Array): boolean {
  try {
    JSON.parse(typeof body === 'string' ? body : new TextDecoder('utf-8', { fatal: true }).decode(body));
    return true;
  } catch {
    return false;
  }
}
