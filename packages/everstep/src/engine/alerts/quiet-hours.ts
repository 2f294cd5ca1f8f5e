/** Quiet hours: a time of day during which notices wait. */

export interface QuietHours {
  /** Local times such as `22:00`. Quiet hours over midnight start on one day and end on the next. */
  readonly from: string;
  readonly to: string;
  /** IANA name of the time zone. */
  readonly timeZone: string;
}

const MINUTE_MS = 60_000;
const MINUTES_PER_HOUR = 60;
const MINUTES_PER_DAY = 24 * MINUTES_PER_HOUR;
/** Maximum number of steps of at most an hour each. No quiet hours need as many. */
const MAX_STEPS = 48;

const minuteOf = (time: string): number => {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * MINUTES_PER_HOUR + minutes;
};

/** Returns a format for the time zone; null if the time zone is unknown. */
function formatIn(timeZone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  } catch {
    return null;
  }
}

export const isTimeZone = (timeZone: string): boolean => formatIn(timeZone) !== null;

/** Returns when a notice that is due at `at` may be sent: then, or at the end of the quiet hours (Unix ms). */
export function afterQuietHours(quietHours: QuietHours | undefined, at: number): number {
  if (!quietHours) return at;
  const [from, to] = [minuteOf(quietHours.from), minuteOf(quietHours.to)];
  // The time zone was validated earlier, possibly by another version of Node.js that has other time zones.
  const format = formatIn(quietHours.timeZone);
  if (!format) return at;
  let time = at;
  // The clocks may change within the quiet hours, so the end is approached by at most an hour at a time.
  for (let step = 0; step < MAX_STEPS; step++) {
    const minute = minuteOf(format.format(time));
    const isQuiet = from <= to ? minute >= from && minute < to : minute >= from || minute < to;
    if (!isQuiet) return time;
    const remainingMinutes = (to - minute + MINUTES_PER_DAY) % MINUTES_PER_DAY;
    time += Math.min(remainingMinutes, MINUTES_PER_HOUR) * MINUTE_MS - (time % MINUTE_MS);
  }
  return time;
}
