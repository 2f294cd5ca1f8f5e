/** Formats times, durations, counts and sizes. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const counts = new Intl.NumberFormat('en');

/** Formats a count: 12,345 */
export const countText = (count: number): string => counts.format(count);
/** Formats a count with its noun: `1 run`, `2 runs` */
export const quantity = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`;

/** Returns the singular of a list name, such as `run` for `runs`. All list names form the plural with an s. */
export const singularOf = (many: string): string => many.replace(/s$/, '');

/** Formats a duration: 350 ms, 2.5 s, 3 min 20 s, 4 h 5 min, 2 d 3 h */
export function durationText(ms: number): string {
  const size = Math.abs(ms);
  if (size < SECOND) return `${Math.round(ms)} ms`;
  if (size < 10 * SECOND) return `${(ms / SECOND).toFixed(1).replace(/\.0$/, '')} s`;
  if (size < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (size < HOUR) return pair(ms, MINUTE, 'min', SECOND, 's');
  if (size < DAY) return pair(ms, HOUR, 'h', MINUTE, 'min');
  return pair(ms, DAY, 'd', HOUR, 'h');
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms % large) / small);
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`;
}

/** Formats a size: 512 B, 1.5 KB, 3 MB */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const kilobytes = bytes / 1000;
  return kilobytes < 1000 ? `${shortened(kilobytes)} KB` : `${shortened(kilobytes / 1000)} MB`;
}
const shortened = (value: number): string => (value < 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value)));

/** The user's time zone, such as `Europe/Berlin`. */
export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

const two = (value: number): string => String(value).padStart(2, '0');

/** Formats a time in the user's time zone or in UTC: 2026-11-22 01:02:03 */
export function exactTime(unixMs: number, zone: 'local' | 'utc'): string {
  const date = new Date(unixMs);
  const utc = zone === 'utc';
  const day = utc
    ? `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`
    : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = utc
    ? `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
    : `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return `${day} ${time}${utc ? ' UTC' : ''}`;
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
  if (Math.abs(ms) < 5 * SECOND) return 'just now';
  // Seconds next to minutes, and fractions of seconds, are irrelevant in a relative time.
  const about = durationText(Math.abs(ms))
    .replace(/ min \d+ s$/, ' min')
    .replace(/\.\d+/, '');
  return ms > 0 ? `${about} ago` : `in ${about}`;
}

/** Returns what is shown instead of a value that the app has encrypted; null for any other text. */
export function encryptedText(text: string): string | null {
  const [envelope, keyId] = /^\{"\$encrypted":"(?:v1\.([0-9a-f]+)\.)?[^"]*"\}$/.exec(text.trim()) ?? [];
  if (envelope === undefined) return null;
  return keyId === undefined ? 'Encrypted value' : `Encrypted value (key ${keyId})`;
}

/** Indents a text that is JSON; returns any other text unchanged. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
