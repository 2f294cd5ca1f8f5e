/** Budget alerts in the store. */
import type { AccountId } from './records.js';

/**
 * Identifies an alert. There is one for each percentage of an instance's budget and month, until the budget or the
 * owner changes.
 */
export interface BudgetAlertId {
  readonly instanceId: string;
  /** Calendar month in UTC, such as `2026-11`. */
  readonly month: string;
  readonly percent: number;
}

/** An alert that has not been delivered to its owner yet. */
export interface PendingBudgetAlert extends BudgetAlertId {
  /** JSON body of the notification. */
  readonly body: string;
  /** Number of attempts so far. */
  readonly retried: number;
  /** Time of the next attempt, Unix ms. */
  readonly dueAt: number;
}

/** Stores budget alerts until they are delivered. */
export interface BudgetAlertStore {
  /**
   * Records that this percentage of the month's budget was reached, and therefore all lower ones (`lesser`). Returns true for the
   * first caller: the alert is then pending, and alerts for the lower percentages are not. Returns false without a change if the
   * budget or the owner is no longer the given one. May delete delivered alerts of earlier months.
   */
  createBudgetAlert(query: {
    readonly alert: PendingBudgetAlert;
    readonly lowerPercents: readonly number[];
    readonly budgetDollars: number;
    readonly accountId: AccountId | null;
  }): Promise<boolean>;
  /** Lists pending alerts that are due at or before `before` (Unix ms), earliest first. */
  dueBudgetAlerts(query: { readonly before: number; readonly limit: number }): Promise<readonly PendingBudgetAlert[]>;
  /** Returns the time when the next alert after `after` is due, Unix ms; null if there is none. */
  nextBudgetAlertAt(query: { readonly after: number }): Promise<number | null>;
  /**
   * Changes a pending alert before or after an attempt to deliver it. It is due again at `dueAt`, or no longer pending
   * if `dueAt` is null. Returns false without a change if the alert has changed since it was read.
   */
  rescheduleBudgetAlert(query: {
    readonly alert: PendingBudgetAlert;
    readonly retried: number;
    readonly dueAt: number | null;
  }): Promise<boolean>;
}
