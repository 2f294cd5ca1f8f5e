/** Presents dead letter groups. */
import type { DeadLetterGroup } from '../../contract/dead-letter-groups.js';
import { groupState, histogramOf } from '../../engine/dead-letters/dead-letter-groups.js';
import type { DeadLetterGroupRecord } from '../../ports/stores/dead-letter-groups.js';

/** Presents the group at the time `now` (Unix ms). */
export const presentGroup = (group: DeadLetterGroupRecord, now: number): DeadLetterGroup => ({
  fingerprint: group.fingerprint,
  state: groupState(group, now),
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
});
