/** Lengths of time and instants as workflow code writes them. */

/** Seconds as a number, or text of value and unit: `'500ms'`, `'10s'`, `'5m'`, `'2h'`, `'1d'`, `'1d10h'`. */
export type Duration = number | string;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|[smhd])/g;

const MAX_SHOWN_LENGTH = 40;

/** Beyond it a number of ms is not exact any more, or no number at all. */
function exact(ms: number, duration: Duration): number {
  if (Number.isSafeInteger(ms)) return ms;
  const shown = String(duration).slice(0, MAX_SHOWN_LENGTH);
  throw new RangeError(`a duration must be at most ${Number.MAX_SAFE_INTEGER} ms, not ${shown}`);
}

/** Milliseconds, whole and not negative. Throws RangeError when it is no duration. */
export function durationMs(duration: Duration): number {
  if (typeof duration === 'number') {
    if (!Number.isFinite(duration) || duration < 0) {
      throw new RangeError(`a duration in seconds must be a number of 0 or more, not ${duration}`);
    }
    return exact(Math.ceil(duration * 1000), duration);
  }
  const text = typeof duration === 'string' ? duration.trim() : '';
  if (!DURATION.test(text)) {
    throw new RangeError(
      `a duration is a number of seconds or text such as '10s', '5m', '2h', '1d' or '1d10h', not ${JSON.stringify(duration)}`,
    );
  }
  let totalMs = 0;
  for (const [, value, unit] of text.matchAll(PART)) totalMs += Number(value) * (UNIT_MS[unit ?? ''] ?? 0);
  return exact(Math.ceil(totalMs), duration);
}

/** A Date, an ISO 8601 string, or Unix milliseconds. */
export type Instant = Date | string | number;

/** Up to 1973 in ms, but up to the year 5138 in seconds: nobody sleeps until then. */
const SMALLEST_PLAUSIBLE_MS = 1e11;

/** Unix ms. Throws RangeError when it is no instant, or seems to be in seconds. */
export function instantMs(instant: Instant): number {
  if (typeof instant === 'number') {
    if (Number.isFinite(instant) && instant >= SMALLEST_PLAUSIBLE_MS) return Math.ceil(instant);
    throw new RangeError(`an instant given as a number is Unix time in milliseconds; ${instant} is not (is it in seconds?)`);
  }
  const atMs = instant instanceof Date ? instant.getTime() : Date.parse(instant);
  if (Number.isNaN(atMs)) throw new RangeError(`an instant is a Date, an ISO 8601 string or Unix milliseconds, not ${instant}`);
  return atMs;
}
