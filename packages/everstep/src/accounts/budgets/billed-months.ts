/** Calendar months (UTC) for billing, and rounding of amounts. */
import { endOfMonth, monthOf } from './months.js';

/** Dollars are rounded to nine decimal places: a message costs a fraction of a cent, and further digits are rounding errors. */
const DECIMAL_FACTOR = 1e9;

/** Returns the months that overlap the period, newest first. Times are in Unix ms. */
export function monthsBetween(from: number, to: number): readonly string[] {
  const months: string[] = [];
  for (let at = from; monthOf(at) <= monthOf(to); at = endOfMonth(at)) months.unshift(monthOf(at));
  return months;
}

export const roundDollars = (dollars: number): number => Math.round(dollars * DECIMAL_FACTOR) / DECIMAL_FACTOR;
