/** Values at the top of an axis. */

/** Returns a round number for the top of the axis that is at least `max`. */
export function roundUp(max: number): number {
  if (max <= 10) return Math.max(1, Math.ceil(max));
  const unit = 10 ** Math.floor(Math.log10(max));
  return ([1, 2, 2.5, 5, 10].find((step) => step * unit >= max) ?? 10) * unit;
}

/** Units of durations, each with the longest duration that it is used for, ms. */
const DURATION_UNITS = [
  { ms: 1, upTo: 1_000 },
  { ms: 1_000, upTo: 60_000 },
  { ms: 60_000, upTo: 3_600_000 },
  { ms: 3_600_000, upTo: 86_400_000 },
] as const;

/** Like `roundUp`, for a duration in milliseconds: the number is round in the unit that it is shown in. */
export function roundUpDuration(maxMs: number): number {
  const unitMs = DURATION_UNITS.find(({ upTo }) => maxMs <= upTo)?.ms ?? 86_400_000;
  return roundUp(maxMs / unitMs) * unitMs;
}
