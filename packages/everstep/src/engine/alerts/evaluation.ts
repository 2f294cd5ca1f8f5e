/** One round of the alert rules of an instance: which alerts open, which continue, and which end. */
import { LIMITS } from '../../config/limits.js';
import { attentionFor, snoozeOf, type TriagedGroup } from '../dead-letters/group-triage.js';
import { type IdSource, newId } from '../ids.js';
import type { Alert, AlertChange, AlertDetails } from './alert.js';
import type { AlertEvent } from './alert-events.js';
import { type AlertRule, type EventCondition, isAboutEvents } from './alert-settings.js';
import { afterQuietHours } from './quiet-hours.js';

/** The properties of an error group that rules use. */
export interface WatchedGroup extends TriagedGroup {
  /** Number of dead letters in it. */
  readonly entries: number;
}

/** The inputs of a round. */
export interface EvaluationInput {
  readonly rules: readonly AlertRule[];
  /** All open alerts of the instance. */
  readonly openAlerts: readonly Alert[];
  /** Failures since the last round, oldest first. */
  readonly events: readonly AlertEvent[];
  /** The groups of the events and of the open alerts, by fingerprint. A missing group was removed. */
  readonly groups: ReadonlyMap<string, WatchedGroup>;
  /**
   * Findings of the rules that are not evaluated from events, by name of the rule. A rule whose state could not be read is
   * missing.
   */
  readonly findings: ReadonlyMap<string, readonly Finding[]>;
}

/** Something that a rule found. */
export interface Finding {
  readonly subject: string;
  readonly at: number;
  readonly details: AlertDetails;
  /** Whether the condition has held for too short a time to open an alert. The finding then only keeps an open alert open. */
  readonly isTooRecent?: boolean;
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

function findingsOf(condition: EventCondition, { events, groups }: EvaluationInput, now: number): readonly Finding[] {
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
function isOver(condition: EventCondition, { subject, lastAt }: Alert, { groups }: EvaluationInput, now: number): boolean {
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

const openAlert = ({ name, condition, quietHours }: AlertRule, { subject, at, details }: Finding, idSource: IdSource): Alert => ({
  alertId: newId('alr', idSource),
  rule: name,
  kind: condition.kind,
  subject,
  openedAt: at,
  lastAt: at,
  endedAt: null,
  occurrences: 1,
  details,
  notice: 'opened',
  notifyAt: afterQuietHours(quietHours, idSource.now),
  notifiedAt: null,
});

/** Returns the changes of one rule. `admitAlert` returns whether the limit of open alerts allows another one, and counts it. */
function changesOf(
  rule: AlertRule,
  openAlerts: readonly Alert[],
  input: EvaluationInput,
  idSource: IdSource,
  admitAlert: () => boolean,
): readonly AlertChange[] {
  const { condition } = rule;
  const { now } = idSource;
  const isEventRule = isAboutEvents(condition);
  // Only the nodes that noticed an outage report it, so its alert ends after a fixed time.
  const isOutage = condition.kind === 'store-trouble';
  const findings = isEventRule ? findingsOf(condition, input, now) : input.findings.get(rule.name);
  if (!findings) return [];
  const changesBySubject = new Map<string, AlertChange>(openAlerts.map((alert) => [alert.subject, { isNew: false, alert }]));
  const foundSubjects = new Set<string>();
  const changedSubjects = new Set<string>();
  const isGone = ({ subject, lastAt }: Alert): boolean =>
    isOutage ? now - lastAt >= LIMITS.defaultAlertEndAfterMs : !foundSubjects.has(subject);
  for (const finding of findings) {
    const { subject, at, details } = finding;
    foundSubjects.add(subject);
    const existing = changesBySubject.get(subject);
    if (existing && !isEventRule && !isOutage) continue;
    if (existing) {
      const { alert } = existing;
      if (isOutage && at <= alert.lastAt) continue;
      const lastAt = Math.max(alert.lastAt, at);
      changesBySubject.set(subject, { ...existing, alert: { ...alert, occurrences: alert.occurrences + 1, lastAt, details } });
    } else if (!finding.isTooRecent && admitAlert())
      changesBySubject.set(subject, { isNew: true, alert: openAlert(rule, finding, idSource) });
    else continue;
    changedSubjects.add(subject);
  }
  return [...changesBySubject].flatMap(([subject, change]) => {
    if (isEventRule ? isOver(condition, change.alert, input, now) : isGone(change.alert))
      return [{ ...change, alert: endAlert(change.alert, rule, now) }];
    return change.isNew || changedSubjects.has(subject) ? [change] : [];
  });
}

/** Returns the alerts that change. Alerts of deleted, disabled or replaced rules end without a notice. */
export function evaluate(input: EvaluationInput, idSource: IdSource): readonly AlertChange[] {
  const { rules, openAlerts } = input;
  const openAlertsOf = ({ name, condition }: AlertRule) =>
    openAlerts.filter((alert) => alert.rule === name && alert.kind === condition.kind);
  const enabledRules = rules.filter(({ isEnabled }) => isEnabled);
  const ruleAlerts = new Set(enabledRules.flatMap(openAlertsOf));
  const orphanedAlerts = openAlerts.filter((alert) => !ruleAlerts.has(alert));
  let openCount = openAlerts.length;
  const admitAlert = (): boolean => openCount++ < LIMITS.maxOpenAlerts;
  return [
    ...orphanedAlerts.map((alert) => ({
      isNew: false,
      alert: { ...alert, endedAt: idSource.now, notice: null, notifyAt: null },
    })),
    ...enabledRules.flatMap((rule) => changesOf(rule, openAlertsOf(rule), input, idSource, admitAlert)),
  ];
}
