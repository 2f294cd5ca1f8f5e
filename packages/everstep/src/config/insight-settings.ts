/** Settings for the retention of the counters of insights. */
import { LIMITS } from './limits.js';
import type { Setting } from './setting.js';

const HOUR_MS = 3_600_000;
const MAX_HOURS = 10_000;

/** Returns the retention in milliseconds. */
function parseRetention(text: string): number {
  const [, value, unit] = /^(\d{1,5})([hd])$/.exec(text) ?? [];
  const hours = Number(value) * (unit === 'd' ? 24 : 1);
  if (!(hours >= 1 && hours <= MAX_HOURS)) throw new Error('must be a number of hours or days such as 48h or 90d, at most 416d');
  return hours * HOUR_MS;
}

/** Declares a setting with the type of its value. */
const setting = <Value>(declaration: Setting<Value>): Setting<Value> => declaration;

export const INSIGHT_SETTINGS = {
  insightMinutes: setting<number>({
    env: 'EVERSTEP_INSIGHT_MINUTES',
    flag: '--insight-minutes <duration>',
    option: 'insightMinutes',
    help: 'retention of the counters by minute, such as 48h or 7d',
    defaultText: '48h',
    fallback: () => LIMITS.insightMinutesMs,
    parse: parseRetention,
  }),
  insightHours: setting<number>({
    env: 'EVERSTEP_INSIGHT_HOURS',
    flag: '--insight-hours <duration>',
    option: 'insightHours',
    help: 'retention of the counters by hour, such as 90d',
    defaultText: '90d',
    fallback: () => LIMITS.insightHoursMs,
    parse: parseRetention,
  }),
};
