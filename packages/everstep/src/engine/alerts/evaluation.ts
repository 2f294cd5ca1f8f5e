/** One round of the alert rules of an instance: which alerts open, which continue, and which end. */
import { LIMITS } from '../../config/limits.js';
import type { GroupTimes } from '../dead-letters/dead-letter-groups.js';
import { groupState } from '../dead-letters/dead-letter-groups.js';
import { type IdSource, newId } from '../ids.js';
import type { Alert, AlertChange, AlertDetails } from './alert.js';
import type { AlertEvent } from './alert-events.js';
import type { AlertRule } from './alert-settings.js';

/** A group of errors, as the rules need it. */
export interface WatchedGroup extends GroupTimes {
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
}

/** Something that a rule found. */
interface Finding {
  readonly subject: string;
  readonly at: number;
  readonly details: AlertDetails;
}

const matches = ({ condition }: AlertRule, event: AlertEvent): boolean =>
  (condition.workflowUrl === undefined || condition.workflowUrl === event.workflowUrl) &&
  (condition.kind !== 'run-failed' || condition.label === undefined || event.labels.includes(condition.label));

const detailsOf = ({ workflowUrl, workflowRunId, stepName, fingerprint, error }: AlertEvent, summary: string): AlertDetails => ({
  summary,
  workflowUrl,
  workflowRunId,
  ...(stepName === null ? {} : { stepName }),
  fingerprint,
  ...(error === '' ? {} : { error }),
});

function findingsOf(rule: AlertRule, { events, groups }: RoundInput, now: number): readonly Finding[] {
  return events
    .filter((event) => matches(rule, event))
    .flatMap((event) => {
      const { at, fingerprint, workflowUrl } = event;
      const what = event.run === 'message' ? 'A message to' : 'A run of';
      if (rule.condition.kind === 'run-failed')
        return [{ subject: workflowUrl, at, details: detailsOf(event, `${what} ${workflowUrl} failed.`) }];
      const group = groups.get(fingerprint);
      const state = group ? groupState(group, now) : 'known';
      if (state === 'known') return [];
      const summary =
        state === 'new'
          ? `A new error in ${workflowUrl}.`
          : `An error in ${workflowUrl} has occurred again after it was resolved.`;
      return [{ subject: fingerprint, at, details: detailsOf(event, summary) }];
    });
}

/** Whether the condition of an open alert no longer holds. */
function isOver({ condition }: AlertRule, { subject, lastAt }: Alert, { groups }: RoundInput, now: number): boolean {
  if (condition.kind === 'run-failed') return now - lastAt >= condition.endAfterMs;
  const group = groups.get(subject);
  return !group || group.entries === 0 || (group.acknowledgedAt !== null && group.regressedAt === null);
}

/** The alert after it has ended. A notice about its end follows only a notice about its start. */
export const ended = (alert: Alert, now: number): Alert => ({
  ...alert,
  endedAt: now,
  ...(alert.notifiedAt === null ? { notice: null, notifyAt: null } : { notice: 'ended', notifyAt: now }),
});

/** Returns the alerts that change. Alerts of deleted, disabled or replaced rules end without a notice. */
export function evaluate(input: RoundInput, source: IdSource): readonly AlertChange[] {
  const { rules, open } = input;
  const { now } = source;
  const changes: AlertChange[] = [];
  let openCount = open.length;
  for (const alert of open) {
    if (rules.some(({ name, isEnabled, condition }) => name === alert.rule && isEnabled && condition.kind === alert.kind))
      continue;
    changes.push({ isNew: false, alert: { ...alert, endedAt: now, notice: null, notifyAt: null } });
  }
  for (const rule of rules) {
    if (!rule.isEnabled) continue;
    const current = new Map(
      open
        .filter((alert) => alert.rule === rule.name && alert.kind === rule.condition.kind)
        .map((alert) => [alert.subject, { isNew: false, alert }]),
    );
    const changed = new Set<string>();
    for (const { subject, at, details } of findingsOf(rule, input, now)) {
      const known = current.get(subject);
      if (known) {
        const { alert } = known;
        const occurrences = alert.occurrences + 1;
        current.set(subject, { ...known, alert: { ...alert, occurrences, lastAt: Math.max(alert.lastAt, at), details } });
      } else {
        if (openCount >= LIMITS.maxOpenAlerts) continue;
        openCount++;
        current.set(subject, { isNew: true, alert: opened(rule, { subject, at, details }, source) });
      }
      changed.add(subject);
    }
    for (const [subject, { isNew, alert }] of current) {
      if (isOver(rule, alert, input, now)) changes.push({ isNew, alert: ended(alert, now) });
      else if (changed.has(subject)) changes.push({ isNew, alert });
    }
  }
  return changes;
}

const opened = ({ name, condition }: AlertRule, { subject, at, details }: Finding, source: IdSource): Alert => ({
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
  notifyAt: source.now,
  notifiedAt: null,
});
