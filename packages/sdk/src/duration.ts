/** Durations and instants as workflow code writes them. */

/** A length of time: a number of seconds, or text such as `'500ms'`, `'10s'`, `'5m'`, `'2h'`, `'1d'` or `'1d10h'`. */
export type Duration = number | string;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/;
const DURATION_PART = /(\d+(?:\.\d+)?)(ms|[smhd])/g;

const MAX_SHOWN_LENGTH = 40;

/** Returns the milliseconds. Throws RangeError if a number cannot represent them exactly. */
function checkExact(ms: number, duration: Duration): number {
  if (Number.isSafeInteger(ms)) return ms;
  const durationText = String(duration).slice(0, MAX_SHOWN_LENGTH);
  throw new RangeError(`a duration must be at most ${Number.MAX_SAFE_INTEGER} ms, not ${durationText}`);
}

/**
 * Converts a duration to whole milliseconds, rounded up.
 *
 * @throws {RangeError} If the value is not a valid duration.
 */
export function durationMs(duration: Duration): number {
  if (typeof duration === 'number') {
    if (!Number.isFinite(duration) || duration < 0) {
      throw new RangeError(`a duration in seconds must be a number of at least 0, not ${duration}`);
    }
    return checkExact(Math.ceil(duration * 1000), duration);
  }
  const text = typeof duration === 'string' ? duration.trim() : '';
  if (!DURATION.test(text)) {
    throw new RangeError(
      `a duration must be a number of seconds or text such as '10s', '5m', '2h', '1d' or '1d10h', not ${JSON.stringify(duration)}`,
    );
  }
  let totalMs = 0;
  for (const [, value, unit] of text.matchAll(DURATION_PART)) totalMs += Number(value) * (UNIT_MS[unit ?? ''] ?? 0);
  return checkExact(Math.ceil(totalMs), duration);
}

/** A point in time: a Date, an ISO 8601 string, or Unix milliseconds. */
export type Instant = Date | string | number;

/** Smallest number accepted as Unix milliseconds. It is in 1973 as milliseconds, but in the year 5138 as seconds. */
const SMALLEST_PLAUSIBLE_MS = 1e11;

/**
 * Converts an instant to Unix milliseconds.
 *
 * @throws {RangeError} If the value is not a valid instant, or is probably in seconds.
 */
export function instantMs(instant: Instant): number {
  if (typeof instant === 'number') {
    if (Number.isFinite(instant) && instant >= SMALLEST_PLAUSIBLE_MS) return Math.ceil(instant);
    throw new RangeError(`a numeric instant must be Unix time in milliseconds, not ${instant}; multiply Unix seconds by 1000`);
  }
  const atMs = instant instanceof Date ? instant.getTime() : Date.parse(instant);
  if (Number.isNaN(atMs))
    throw new RangeError(`an instant must be a Date, an ISO 8601 string or Unix milliseconds, not ${instant}`);
  return atMs;
}
