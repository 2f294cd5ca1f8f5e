/** Calendar months and days in UTC. Times are Unix ms. */

const DAY_MS = 86_400_000;

/** Such as `2026-11`. */
export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

/** When the next month begins. */
export function endOfMonth(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Days since 1970. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS);

/** Such as `2026-11-21`. */
export const dayNameOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Of days since 1970. */
export const startOfDay = (day: number): number => day * DAY_MS;

/** When the next day begins. */
export const endOfDay = (at: number): number => (dayOf(at) + 1) * DAY_MS;
