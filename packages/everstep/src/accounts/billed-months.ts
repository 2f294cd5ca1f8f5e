/** What is told of calendar months (UTC), by which usage is billed. */
import { endOfMonth, monthOf } from './months.js';

/** A message costs a fraction of a cent; beyond this many places there is only the noise of binary fractions. */
const PLACES = 1e9;

/** The months that the time between touches, newest first. Unix ms. */
export function monthsBetween(from: number, to: number): readonly string[] {
  const months: string[] = [];
  for (let at = from; monthOf(at) <= monthOf(to); at = endOfMonth(at)) months.unshift(monthOf(at));
  return months;
}

export const roundedDollars = (dollars: number): number => Math.round(dollars * PLACES) / PLACES;
