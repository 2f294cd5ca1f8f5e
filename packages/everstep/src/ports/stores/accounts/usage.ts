/** Usage and daily counters of queue instances in the store. */
import type { DailyCount, DayCountKind } from '../../../engine/writes.js';
import type { AccountId } from './records.js';

export type { DailyCount, DayCountKind } from '../../../engine/writes.js';

/** Messages of one instance, billed to one account at one price, in one calendar month. */
export interface UsageRecord {
  readonly instanceId: string;
  readonly accountId: AccountId | null;
  /** Calendar month in UTC, such as `2026-11`. */
  readonly month: string;
  /** Price of the instance when the messages were counted, in dollars per 100,000; null if it had none. */
  readonly price: number | null;
  readonly messages: number;
}

/** Messages of one instance, billed to one account at one price, on one day. */
export interface DayUsageRecord extends Omit<UsageRecord, 'month'> {
  /** Day in UTC, such as `2026-11-21`. */
  readonly day: string;
}

/** Number of days for which counts are kept, in addition to the latest day. */
export const DAYS_KEPT = 31;

/** Number of events of one kind of an instance on one day (UTC). */
export interface DayCount {
  readonly instanceId: string;
  /** Number of days since 1970. */
  readonly day: number;
  readonly what: DayCountKind;
  readonly count: number;
  /** Time of the last event, Unix ms. */
  readonly lastAt: number;
}

/** Stores usage. */
export interface UsageStore {
  /** Returns the usage of the instance, over all accounts and prices, newest month first. `count-messages` writes add to it. */
  usage(query: { readonly instanceId: string; readonly fromMonth: string }): Promise<readonly UsageRecord[]>;
  /**
   * Returns the usage by day, oldest first. Older versions counted only by month, so early days can be missing. `fromDay` is
   * a day such as `2026-11-21`.
   */
  usageByDay(query: { readonly instanceId: string; readonly fromDay: string }): Promise<readonly DayUsageRecord[]>;
  /** Adds to the counters of a day, in one transaction, for events without a unit. */
  countOfDay(counts: readonly Omit<DailyCount, 'kind'>[]): Promise<void>;
  /** Returns the counters of the instance since `fromDay` (days since 1970), newest first. `count-of-day` writes add to them. */
  countsByDay(query: { readonly instanceId: string; readonly fromDay: number }): Promise<readonly DayCount[]>;
}
