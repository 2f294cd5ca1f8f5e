/** Alerts in the store, and the events that the alert rules of an instance have not evaluated yet. */
import type { Alert, AlertChange } from '../../../engine/alerts/alert.js';
import type { AlertEvent } from '../../../engine/alerts/alert-events.js';

const SETTINGS_PREFIX = 'alerts/';
/** Returns the name of the secret that contains the alert settings of an instance as JSON. */
export const alertSettingsName = (instanceId: string): string => `${SETTINGS_PREFIX}${instanceId}`;
/** Returns the instance whose alert settings a secret contains; null for any other secret. */
export const instanceOfAlertSettings = (name: string): string | null =>
  name.startsWith(SETTINGS_PREFIX) ? name.slice(SETTINGS_PREFIX.length) : null;

export interface AlertPage {
  readonly instanceId: string;
  readonly isOpen?: boolean;
  /** Id of the last alert of the previous page; null for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

export interface AlertStore {
  /** Lists events that were not evaluated yet, oldest first. */
  events(query: { readonly instanceId: string; readonly limit: number }): Promise<readonly AlertEvent[]>;
  /** Lists all open alerts, oldest first. */
  listOpen(query: { readonly instanceId: string }): Promise<readonly Alert[]>;
  /**
   * Writes the changes that an evaluation of the rules made to alerts, and removes the evaluated events, in one transaction.
   * Returns false without a change if another process has already evaluated one of the events, or has opened one of the alerts.
   */
  record(query: {
    readonly instanceId: string;
    readonly changes: readonly AlertChange[];
    readonly eventIds: readonly string[];
  }): Promise<boolean>;
  /** Lists alerts with a notice that is due at or before `before` (Unix ms), earliest first. */
  dueNotices(query: { readonly instanceId: string; readonly before: number; readonly limit: number }): Promise<readonly Alert[]>;
  /** Returns the number of alerts whose last notice was sent at or after `since` (Unix ms). */
  countNotified(query: { readonly instanceId: string; readonly since: number }): Promise<number>;
  /**
   * Sets the time of the pending notice (Unix ms) or, if `notifyAt` is null, records that it was sent. Does nothing if the notice
   * is no longer pending.
   */
  moveNotice(query: {
    readonly instanceId: string;
    readonly alert: Pick<Alert, 'alertId' | 'notice'>;
    readonly notifyAt: number | null;
    readonly now: number;
  }): Promise<void>;
  /** Lists alerts, newest first. */
  list(page: AlertPage): Promise<readonly Alert[]>;
  /** Removes some alerts that ended before `endedBefore` (Unix ms), and returns their number. */
  removeEnded(query: { readonly instanceId: string; readonly endedBefore: number; readonly limit: number }): Promise<number>;
}
