/** One round of the alert rules of an instance: which alerts open, which continue, and which end. */
import { LIMITS } from '../../config/limits.js';
import { attentionFor, snoozeOf, type TriagedGroup } from '../dead-letters/group-triage.js';
import { type IdSource, newId } from '../ids.js';
import type { Alert, AlertChange, AlertDetails } from './alert.js';
import type { AlertEvent } from './alert-events.js';
import { type AlertRule, type EventCondition, isAboutEvents } from './alert-settings.js';
import { afterQuietHours } from './quiet-hours.js';

/** A group of errors, as the rules need it. */
export interface WatchedGroup extends TriagedGroup {
  /** Number of dead letters in it. */
  readonly entries: number;
}

/** The inputs of a round. */
export interface RoundInput {
  readonly rules: readonly AlertRule[];
  /** All open alerts of the instance. */
  readonly open: readonly Alert[];
  /** Failures since the last round, oldest first. */
  readonly events: readonly AlertEvent[];
  /** The groups of the events and of the open alerts, by fingerprint. A missing group was removed. */
  readonly groups: ReadonlyMap<string, WatchedGroup>;
  /** Findings of the rules that are not evaluated from events, by name of the rule. A rule that was not read is missing. */
  readonly findings: ReadonlyMap<string, readonly Finding[]>;
}

/** Something that a rule found. */
export interface Finding {
  readonly subject: string;
  readonly at: number;
  readonly details: AlertDetails;
}

const matches = (condition: EventCondition, event: AlertEvent): boolean =>
  (condition.workflowUrl === undefined || condition.workflowUrl === event.workflowUrl) &&
  (condition.kind !== 'run-failed' || condition.label === undefined || event.labels.includes(condition.label));

const GROUP_SUMMARIES = {
  new: (workflowUrl: string) => `A new error in ${workflowUrl}.`,
  regressed: (workflowUrl: string) => `An error in ${workflowUrl} has occurred again after it was resolved.`,
  'snooze-ended': (workflowUrl: string) => `An error in ${workflowUrl} has occurred again after its snooze ended.`,
} as const;

const detailsOf = ({ workflowUrl, workflowRunId, stepName, fingerprint, error }: AlertEvent, summary: string): AlertDetails => ({
  summary,
  workflowUrl,
  workflowRunId,
  ...(stepName === null ? {} : { stepName }),
  fingerprint,
  ...(error === '' ? {} : { error }),
});

function findingsOf(condition: EventCondition, { events, groups }: RoundInput, now: number): readonly Finding[] {
  return events
    .filter((event) => matches(condition, event))
    .flatMap((event) => {
      const { at, fingerprint, workflowUrl } = event;
      const subjectText = event.run === 'message' ? 'A message to' : 'A run of';
      if (condition.kind === 'run-failed')
        return [{ subject: workflowUrl, at, details: detailsOf(event, `${subjectText} ${workflowUrl} failed.`) }];
      const group = groups.get(fingerprint);
      const reason = group ? attentionFor(group, now) : null;
      if (reason === null) return [];
      return [{ subject: fingerprint, at, details: detailsOf(event, GROUP_SUMMARIES[reason](workflowUrl)) }];
    });
}

/** Returns whether the condition of an open alert no longer holds. */
function isOver(condition: EventCondition, { subject, lastAt }: Alert, { groups }: RoundInput, now: number): boolean {
  if (condition.kind === 'run-failed') return now - lastAt >= condition.endAfterMs;
  const group = groups.get(subject);
  if (!group || group.entries === 0) return true;
  // An unacknowledged group that is too old to be new stays open, except while it is snoozed.
  const isHandled = group.acknowledgedAt !== null || snoozeOf(group) !== null;
  return isHandled && attentionFor(group, now) === null;
}

/** Returns the alert after it has ended. A notice about its end follows only a notice about its start. */
const endAlert = (alert: Alert, { quietHours }: AlertRule, now: number): Alert => ({
  ...alert,
  endedAt: now,
  ...(alert.notifiedAt === null
    ? { notice: null, notifyAt: null }
    : { notice: 'ended', notifyAt: afterQuietHours(quietHours, now) }),
});

const openAlert = ({ name, condition, quietHours }: AlertRule, { subject, at, details }: Finding, source: IdSource): Alert => ({
  alertId: newId('alr', source),
  rule: name,
  kind: condition.kind,
  subject,
  openedAt: at,
  lastAt: at,
  endedAt: null,
  occurrences: 1,
  details,
  notice: 'opened',
  notifyAt: afterQuietHours(quietHours, source.now),
  notifiedAt: null,
});

/**
 * Returns the changes of one rule. `open`: its open alerts. `mayOpen` returns whether the limit of open alerts allows another
 * one.
 */
function changesOf(
  rule: AlertRule,
  open: readonly Alert[],
  input: RoundInput,
  source: IdSource,
  mayOpen: () => boolean,
): readonly AlertChange[] {
  const { condition } = rule;
  const { now } = source;
  const isEvents = isAboutEvents(condition);
  // Only the nodes that noticed an outage find it, so the alert ends by its time.
  const isOutage = condition.kind === 'store-trouble';
  const findings = isEvents ? findingsOf(condition, input, now) : input.findings.get(rule.name);
  if (!findings) return [];
  const current = new Map<string, AlertChange>(open.map((alert) => [alert.subject, { isNew: false, alert }]));
  const foundSubjects = new Set<string>();
  const changed = new Set<string>();
  const isGone = ({ subject, lastAt }: Alert): boolean =>
    isOutage ? now - lastAt >= LIMITS.defaultAlertEndAfterMs : !foundSubjects.has(subject);
  for (const finding of findings) {
    const { subject, at, details } = finding;
    foundSubjects.add(subject);
    const existing = current.get(subject);
    if (existing && !isEvents && !isOutage) continue;
    if (existing) {
      const { alert } = existing;
      if (isOutage && at <= alert.lastAt) continue;
      const lastAt = Math.max(alert.lastAt, at);
      current.set(subject, { ...existing, alert: { ...alert, occurrences: alert.occurrences + 1, lastAt, details } });
    } else if (mayOpen()) current.set(subject, { isNew: true, alert: openAlert(rule, finding, source) });
    else continue;
    changed.add(subject);
  }
  return [...current].flatMap(([subject, change]) => {
    if (isEvents ? isOver(condition, change.alert, input, now) : isGone(change.alert))
      return [{ ...change, alert: endAlert(change.alert, rule, now) }];
    return change.isNew || changed.has(subject) ? [change] : [];
  });
}

/** Returns the alerts that change. Alerts of deleted, disabled or replaced rules end without a notice. */
export function evaluate(input: RoundInput, source: IdSource): readonly AlertChange[] {
  const { rules, open } = input;
  const ofRule = ({ name, condition }: AlertRule) => open.filter((alert) => alert.rule === name && alert.kind === condition.kind);
  const enabled = rules.filter(({ isEnabled }) => isEnabled);
  const ruleAlerts = new Set(enabled.flatMap(ofRule));
  const orphans = open.filter((alert) => !ruleAlerts.has(alert));
  let openCount = open.length;
  const mayOpen = (): boolean => openCount++ < LIMITS.maxOpenAlerts;
  return [
    ...orphans.map((alert) => ({ isNew: false, alert: { ...alert, endedAt: source.now, notice: null, notifyAt: null } })),
    ...enabled.flatMap((rule) => changesOf(rule, ofRule(rule), input, source, mayOpen)),
  ];
}
