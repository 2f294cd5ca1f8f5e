/** Parses `parallelism=<n>, rate=<n>, period=<duration>`, in any order. Requires parallelism, rate or both. */
import { LIMITS } from '../../config/limits.js';
import { DURATION_FORM, formatDuration, parseDuration } from './duration.js';
import { InvalidValueError, quoteValue } from './value-errors.js';

export interface FlowControlLimits {
  readonly parallelism?: number;
  readonly rate?: number;
  /** Present if and only if `rate` is present. */
  readonly periodMs?: number;
}

const EXPECTED_FORM = 'the form "parallelism=<number>, rate=<number>, period=<duration>"';
/** Period of a rate without an explicit period. */
export const DEFAULT_PERIOD_MS = 1_000;

function parseInteger(name: string, text: string, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1 && value <= max) return value;
  throw new InvalidValueError(`must have a ${name} that is an integer from 1 to ${max}, not ${quoteValue(text)}`);
}

function parsePeriod(text: string): number {
  const ms = parseDuration(text);
  if (ms !== null && ms >= 1_000 && ms <= LIMITS.maxPeriodMs) return ms;
  const range = `from 1s to ${formatDuration(LIMITS.maxPeriodMs)}`;
  throw new InvalidValueError(`must have a period ${range}: ${DURATION_FORM}, not ${quoteValue(text)}`);
}

/** Parses the value. Throws InvalidValueError if it is invalid. */
export function parseFlowControlValue(text: string): FlowControlLimits {
  const textByName = new Map<string, string>();
  for (const part of text.split(',')) {
    const [name = '', value, ...extraPieces] = part.split('=').map((piece) => piece.trim());
    if (value === undefined || extraPieces.length > 0 || !['parallelism', 'rate', 'period'].includes(name)) {
      throw new InvalidValueError(`must have ${EXPECTED_FORM}; ${quoteValue(part.trim())} is not allowed`);
    }
    if (textByName.has(name)) throw new InvalidValueError(`must have ${EXPECTED_FORM}; ${name} is given more than once`);
    textByName.set(name, value);
  }
  const [parallelism, rate, period] = [textByName.get('parallelism'), textByName.get('rate'), textByName.get('period')];
  if (rate === undefined && period !== undefined)
    throw new InvalidValueError('must not have a period without a rate; add rate=<number>');
  return {
    ...(parallelism === undefined ? {} : { parallelism: parseInteger('parallelism', parallelism, LIMITS.maxParallelism) }),
    ...(rate === undefined ? {} : { rate: parseInteger('rate', rate, LIMITS.maxRate) }),
    ...(rate === undefined ? {} : { periodMs: period === undefined ? DEFAULT_PERIOD_MS : parsePeriod(period) }),
  };
}
