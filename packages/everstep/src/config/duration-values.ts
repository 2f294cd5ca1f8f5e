/** Parsers for settings that are durations. Each throws an Error with the allowed values. */
import { LIMITS } from './limits.js';

/** Returns the lease in milliseconds. With less than a second, a brief pause of the machine would count as a failed node. */
export function parseNodeLease(text: string): number {
  const seconds = Number(text);
  if (!/^\d{1,3}(\.\d+)?$/.test(text) || seconds < 1 || seconds > 300)
    throw new Error('must be a number of seconds from 1 to 300');
  return Math.round(seconds * 1000);
}

export const DAY_MS = 86_400_000;
const MAX_DAYS = 36_500;

/** Returns the retention of audit log entries in milliseconds; null if they are kept forever. */
export function parseAuditRetention(text: string): number | null {
  if (text === 'forever') return null;
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? [];
  if (!(Number(days) >= 1 && Number(days) <= MAX_DAYS)) throw new Error('must be a number of days such as 400d, or forever');
  return Number(days) * DAY_MS;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Returns the timeout in milliseconds. A number without a unit is in seconds. */
export function parseTimeout(text: string): number {
  const [, value, unit = 's'] = /^(\d{1,6})([smh])?$/.exec(text) ?? [];
  const timeoutMs = Number(value) * (UNIT_MS[unit] ?? Number.NaN);
  if (!(timeoutMs >= 1_000 && timeoutMs <= LIMITS.maxDeliveryTimeoutMs))
    throw new Error('must be a duration from 1s to 12h, such as 30s, 15m or 1h');
  return timeoutMs;
}
