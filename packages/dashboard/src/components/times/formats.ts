/** Formats times, durations, counts and sizes. */

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const countFormat = new Intl.NumberFormat('en');

/** Formats a count: 12,345 */
export const countText = (count: number): string => countFormat.format(count);
/** Formats a count with its noun: `1 run`, `2 runs` */
export const quantity = (count: number, singular: string, plural = `${singular}s`): string =>
  `${countText(count)} ${count === 1 ? singular : plural}`;

/** Returns the singular of a list name, such as `run` for `runs`. All list names form the plural with an s. */
export const singularOf = (plural: string): string => plural.replace(/s$/, '');

/** Formats a duration: 350 ms, 2.5 s, 3 min 20 s, 4 h 5 min, 2 d 3 h */
export function durationText(ms: number): string {
  const size = Math.abs(ms);
  if (size < SECOND_MS) return `${Math.round(ms)} ms`;
  if (size < 10 * SECOND_MS) return `${(ms / SECOND_MS).toFixed(1).replace(/\.0$/, '')} s`;
  if (size < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (size < HOUR_MS) return twoUnits(ms, MINUTE_MS, 'min', SECOND_MS, 's');
  if (size < DAY_MS) return twoUnits(ms, HOUR_MS, 'h', MINUTE_MS, 'min');
  return twoUnits(ms, DAY_MS, 'd', HOUR_MS, 'h');
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const largeCount = Math.floor(ms / large);
  const smallCount = Math.floor((ms % large) / small);
  return smallCount === 0 ? `${largeCount} ${largeName}` : `${largeCount} ${largeName} ${smallCount} ${smallName}`;
}

/** Formats a size: 512 B, 1.5 KB, 3 MB */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const kilobytes = bytes / 1000;
  return kilobytes < 1000 ? `${roundSize(kilobytes)} KB` : `${roundSize(kilobytes / 1000)} MB`;
}
const roundSize = (value: number): string => (value < 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value)));

/** The user's time zone, such as `Europe/Berlin`. */
export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** Formats a time in the user's time zone or in UTC: 2026-11-22 01:02:03 */
export function exactTime(unixMs: number, zone: 'local' | 'utc'): string {
  const date = new Date(unixMs);
  const isUtc = zone === 'utc';
  const day = isUtc
    ? `${date.getUTCFullYear()}-${twoDigits(date.getUTCMonth() + 1)}-${twoDigits(date.getUTCDate())}`
    : `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
  const time = isUtc
    ? `${twoDigits(date.getUTCHours())}:${twoDigits(date.getUTCMinutes())}:${twoDigits(date.getUTCSeconds())}`
    : `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}:${twoDigits(date.getSeconds())}`;
  return `${day} ${time}${isUtc ? ' UTC' : ''}`;
}

/** Like `exactTime`, but without the date if it is today, or without the year if it is the current one. */
export function shortTime(unixMs: number, nowMs: number): string {
  const exact = exactTime(unixMs, 'local');
  const now = exactTime(nowMs, 'local');
  if (exact.slice(0, 10) === now.slice(0, 10)) return exact.slice(11);
  return exact.slice(0, 4) === now.slice(0, 4) ? exact.slice(5) : exact.slice(0, 16);
}

/** Formats a time relative to now: just now, 5 min ago, in 3 h */
export function relativeText(unixMs: number, nowMs: number): string {
  const ms = nowMs - unixMs;
  if (Math.abs(ms) < 5 * SECOND_MS) return 'just now';
  // Seconds next to minutes, and fractions of seconds, are irrelevant in a relative time.
  const roughDuration = durationText(Math.abs(ms))
    .replace(/ min \d+ s$/, ' min')
    .replace(/\.\d+/, '');
  return ms > 0 ? `${roughDuration} ago` : `in ${roughDuration}`;
}

/** Returns the text that is shown instead of a value that the app has encrypted; null for any other text. */
export function encryptedText(text: string): string | null {
  const [envelope, keyId] = /^\{"\$encrypted":"(?:v1\.([0-9a-f]+)\.)?[^"]*"\}$/.exec(text.trim()) ?? [];
  if (envelope === undefined) return null;
  return keyId === undefined ? 'Encrypted value' : `Encrypted value (key ${keyId})`;
}
