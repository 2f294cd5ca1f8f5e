/** How times, durations, counts and sizes are written. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const counts = new Intl.NumberFormat('en');
const compactCounts = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** 12,345 */
export const countText = (count: number): string => counts.format(count);
/** 12K where there is little room. */
export const compactText = (count: number): string => compactCounts.format(count);
/** `1 run`, `2 runs` */
export const quantity = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`;

/** `runs` to `run`, for the names of lists: all of them have an s at the end for many. */
export const oneOf = (many: string): string => many.replace(/s$/, '');

/** 350 ms, 2.5 s, 3 min 20 s, 4 h 5 min, 2 d 3 h */
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

/** 512 B, 1.5 KB, 3 MB */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const kilobytes = bytes / 1000;
  return kilobytes < 1000 ? `${shortened(kilobytes)} KB` : `${shortened(kilobytes / 1000)} MB`;
}
const shortened = (value: number): string => (value < 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value)));

const two = (value: number): string => String(value).padStart(2, '0');

/** 2026-11-22 01:02:03.004, in the zone of the reader or UTC */
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

/** The same, without what a reader of a list knows anyway: the day when it is today, the year when it is this one. */
export function shortTime(unixMs: number, nowMs: number): string {
  const exact = exactTime(unixMs, 'local');
  const now = exactTime(nowMs, 'local');
  if (exact.slice(0, 10) === now.slice(0, 10)) return exact.slice(11);
  return exact.slice(0, 4) === now.slice(0, 4) ? exact.slice(5) : exact.slice(0, 16);
}

/** just now, 5 min ago, in 3 h */
export function relativeText(unixMs: number, nowMs: number): string {
  const ms = nowMs - unixMs;
  if (Math.abs(ms) < 5 * SECOND) return 'just now';
  // Seconds beside minutes, and parts of them, are no matter at a distance.
  const about = durationText(Math.abs(ms))
    .replace(/ min \d+ s$/, ' min')
    .replace(/\.\d+/, '');
  return ms > 0 ? `${about} ago` : `in ${about}`;
}

/** JSON with line breaks, when the text is JSON; else the text as it is. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
