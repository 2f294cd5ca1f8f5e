/** Limits of alerts, of the triage of error groups, and of lifecycle webhooks, as a part of `LIMITS`. */
const KiB = 1024;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const ALERT_LIMITS = Object.freeze({
  /** Maximum numbers per queue instance. */
  maxAlertDestinations: 20,
  maxAlertRules: 50,
  maxLifecycleWebhooks: 20,
  maxAlertNameLength: 64,
  /** Alerts of an instance that are open at the same time. Further subjects open no alert until others end. */
  maxOpenAlerts: 500,
  /** Notes of one group of dead letters, and the length of a note. */
  maxGroupNotes: 20,
  maxGroupNoteLength: 1_000,
  maxSnoozeMs: 90 * DAY_MS,
  alertsPageDefault: 50,
  alertsPageMax: 200,
  /** How long an alert that has ended is listed. */
  endedAlertsKeptMs: 30 * DAY_MS,
  /** Rows of ended alerts removed in one transaction. */
  maxRemovedAlerts: 500,
  /** Interval at which rules are evaluated, and the delay of a round after a failed run. */
  alertRoundEveryMs: 10 * SECOND_MS,
  alertRoundDelayMs: SECOND_MS,
  /** Events evaluated in one transaction. */
  alertEventsPerStep: 200,
  /** Notices about alerts that an instance sends per hour. Further ones are postponed. */
  maxAlertNoticesPerHour: 60,
  alertNoticePostponeMs: 5 * MINUTE_MS,
  /** Test notices of an instance per hour, on each node. */
  maxTestNoticesPerHour: 20,
  minAlertEndAfterMs: MINUTE_MS,
  defaultAlertEndAfterMs: 15 * MINUTE_MS,
  maxAlertEndAfterMs: 7 * DAY_MS,
  /** Times of the conditions of rules. The counters of a failure rate are kept by minute. */
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
  /** Recipients of email of an instance per hour, on each node. A notice with several recipients counts several times. */
  maxMailRecipientsPerHour: 300,
  maxMailSubjectLength: 200,
  /** Retries of a notice, and the time limit of one attempt. */
  noticeRetries: 5,
  noticeTimeoutMs: 30 * SECOND_MS,
  maxNoticeErrorLength: KiB,
});
