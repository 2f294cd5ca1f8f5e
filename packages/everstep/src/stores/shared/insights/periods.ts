/** Selects the counters that add up to those of a time: whole days and hours instead of their minutes. */
import { DAY_MS, HOUR_MS, MINUTE_MS, startOfDay, startOfHour } from '../../../engine/insights/counts.js';
import type { InsightPeriod, InsightTime } from '../../../ports/stores/insights/insight-store.js';
import { inIntegerList, withIndex } from '../sql/dialect.js';
import { type Sql, sql } from '../sql/sql.js';

/** Number that is stored for each period. */
export const PERIODS = { minute: 0, hour: 1, day: 2 } as const satisfies Record<InsightPeriod, number>;
/** Number that is stored for each scope: the totals of all workflows, those of plain messages, or one workflow. */
export const SCOPES = { runs: 0, messages: 1, workflow: 2 } as const;
/** Stored name of the workflows that are counted together. */
export const OTHER_WORKFLOWS = '';

const LENGTHS_MS: Readonly<Record<InsightPeriod, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };

/** Index for reading all workflows of some periods. Without it, SQLite would read all periods of the instance. */
export const BY_START = withIndex('insight_by_start');

/** Starts of periods, Unix ms, in ascending order. */
export type Parts = Readonly<Record<InsightPeriod, readonly number[]>>;

const endOf = (at: number, lengthMs: number): number => at - (at % lengthMs) + lengthMs;

/** Returns whether the time contains a whole day. */
export const hasDay = ({ from, to }: InsightTime): boolean => startOfDay(from + DAY_MS - 1) + DAY_MS <= to;

/** Returns the periods that cover the time, as long as possible. `days` are those that have their own counters. */
export function partsOf({ from, to }: InsightTime, days: ReadonlySet<number>): Parts {
  const parts: Record<InsightPeriod, number[]> = { minute: [], hour: [], day: [] };
  for (let at = from; at < to; ) {
    if (at % DAY_MS === 0 && days.has(at) && at + DAY_MS <= to) {
      parts.day.push(at);
      at += DAY_MS;
    } else if (at % HOUR_MS === 0 && at + HOUR_MS <= to) {
      parts.hour.push(at);
      at += HOUR_MS;
    } else {
      const end = Math.min(to, endOf(at, HOUR_MS));
      for (; at < end; at += MINUTE_MS) parts.minute.push(at);
    }
  }
  return parts;
}

/** Returns the periods of one length in the time. */
export function periodsIn(period: InsightPeriod, { from, to }: InsightTime): Parts {
  const lengthMs = LENGTHS_MS[period];
  const starts = Array.from({ length: Math.max(0, Math.ceil((to - from) / lengthMs)) }, (_, index) => from + index * lengthMs);
  return { minute: [], hour: [], day: [], [period]: starts };
}

/** Returns the condition on the starts of periods. Contiguous periods are read in one pass over the index. */
export function isStartOf(period: InsightPeriod, starts: readonly number[]): Sql {
  const [first = 0, last = 0] = [starts[0], starts.at(-1)];
  const isContiguous = last - first === (starts.length - 1) * LENGTHS_MS[period];
  return isContiguous ? sql`start BETWEEN ${first} AND ${last}` : sql`start ${inIntegerList(starts)}`;
}

/** Returns the start of the period that contains the time, Unix ms. */
export function startIn(period: InsightPeriod, at: number): number {
  if (period === 'minute') return at;
  return period === 'hour' ? startOfHour(at) : startOfDay(at);
}
