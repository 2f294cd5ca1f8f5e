/** Limits of alerts, of the triage of error groups, and of lifecycle webhooks, as a part of `LIMITS`. */
const KiB = 1024;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const ALERT_LIMITS = Object.freeze({
  /** Maximum numbers of objects per queue instance, and maximum length of their names. */
  maxAlertDestinations: 20,
  maxAlertRules: 50,
  maxLifecycleWebhooks: 20,
  maxAlertNameLength: 64,
  /** Maximum number of open alerts of an instance. Further alerts are not opened until others end. */
  maxOpenAlerts: 500,
  /** Maximum number of notes of one group of dead letters, and maximum length of a note. */
  maxGroupNotes: 20,
  maxGroupNoteLength: 1_000,
  maxSnoozeMs: 90 * DAY_MS,
  alertsPageDefault: 50,
  alertsPageMax: 200,
  /** Time for which an ended alert remains listed. */
  endedAlertsKeptMs: 30 * DAY_MS,
  /** Maximum number of ended alerts removed in one transaction. */
  maxRemovedAlerts: 500,
  /** Interval at which rules are evaluated, and delay of an evaluation after a failed run. */
  alertRoundEveryMs: 10 * SECOND_MS,
  alertRoundDelayMs: SECOND_MS,
  /** Maximum number of events evaluated in one transaction. */
  alertEventsPerStep: 200,
  /** Maximum number of alert notices that an instance sends per hour. Further notices are postponed. */
  maxAlertNoticesPerHour: 60,
  alertNoticePostponeMs: 5 * MINUTE_MS,
  /** Maximum number of test notices of an instance per hour, on each node. */
  maxTestNoticesPerHour: 20,
  minAlertEndAfterMs: MINUTE_MS,
  defaultAlertEndAfterMs: 15 * MINUTE_MS,
  maxAlertEndAfterMs: 7 * DAY_MS,
  /** Bounds for the times in the conditions of rules. Failure rates are counted by minute. */
  minAlertTimeMs: MINUTE_MS,
  maxAlertTimeMs: 30 * DAY_MS,
  maxAlertWindowMs: HOUR_MS,
  defaultAlertWindowMs: 5 * MINUTE_MS,
  defaultAlertMinRuns: 10,
  maxAlertMinRuns: 1_000_000,
  maxTimeZoneLength: 64,
  /** Maximum number of addresses of one destination. */
  maxMailAddresses: 5,
  maxMailAddressLength: 254,
  /** Maximum number of email recipients of an instance per hour, on each node. A notice counts once for each recipient. */
  maxMailRecipientsPerHour: 300,
  maxMailSubjectLength: 200,
  /** Maximum number of retries of a notice, and timeout of one attempt. */
  noticeRetries: 5,
  noticeTimeoutMs: 30 * SECOND_MS,
  maxNoticeErrorLength: KiB,
});
