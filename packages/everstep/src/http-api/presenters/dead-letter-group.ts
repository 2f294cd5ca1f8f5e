/** Presents dead letter groups. */
import type { DeadLetterGroup, DeadLetterGroupPage } from '../../contract/dead-letter-groups.js';
import { groupState, histogramOf } from '../../engine/dead-letters/dead-letter-groups.js';
import { attentionFor, needingAttention, snoozeOf } from '../../engine/dead-letters/group-triage.js';
import type { DeadLetterGroupRecord, DeadLetterGroupTotals } from '../../ports/stores/dead-letter-groups.js';

/** Presents a group as it is at the time `now` (Unix ms), with all its notes or only the newest one. */
export const presentGroup = (group: DeadLetterGroupRecord, now: number, notes: 'all' | 'newest'): DeadLetterGroup => ({
  fingerprint: group.fingerprint,
  state: groupState(group, now),
  needsAttention: group.entries > 0 && attentionFor(group, now) !== null,
  kind: group.kind,
  stepName: group.stepName,
  responseStatus: group.responseStatus,
  message: group.message,
  exampleDlqId: group.exampleDlqId,
  latest: group.latest,
  firstSeenAt: group.firstSeenAt,
  lastSeenAt: group.lastSeenAt,
  count: group.entries,
  total: group.total,
  workflows: group.workflows.map(({ workflowUrl, entries }) => ({ workflowUrl, count: entries })),
  histogram: [...histogramOf(group.hours, now)],
  acknowledgedAt: group.acknowledgedAt,
  acknowledgedBy: group.acknowledgedBy,
  resolvedAt: group.resolvedAt,
  regressedAt: group.regressedAt,
  assignment: group.triage.assignment,
  snooze: snoozeOf(group),
  notes: group.triage.notes.slice(notes === 'all' ? 0 : -1).reverse(),
  noteCount: group.triage.notes.length,
});

export const presentTotals = (totals: DeadLetterGroupTotals): DeadLetterGroupPage['totals'] => ({
  deadLetters: totals.entries,
  groups: totals.groups,
  needAttention: needingAttention(totals),
});
