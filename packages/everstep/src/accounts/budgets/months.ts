/** Calendar months and days in UTC. Times are in Unix ms. */

const DAY_MS = 86_400_000;

/** Returns the name of a month, such as `2026-11`. */
export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

/** Returns the start of the next month. */
export function endOfMonth(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Returns the number of days since 1970. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS);

/** Returns the name of a day, such as `2026-11-21`. */
export const dayNameOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Returns the start of a day. `day` is the number of days since 1970. */
export const startOfDay = (day: number): number => day * DAY_MS;

/** Returns the start of the next day. */
export const endOfDay = (at: number): number => (dayOf(at) + 1) * DAY_MS;
