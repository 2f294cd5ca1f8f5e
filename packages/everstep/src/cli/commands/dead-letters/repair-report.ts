/** Formats repairs as human-readable text. */
import type { Repair, RepairItem } from '@everstep/sdk';
import { duration, instant, type Screen, shorten, styled, table } from '../../output.js';

const MAX_WORKFLOWS = 20;
const MAX_ERROR_LENGTH = 80;
const NAME_WIDTH = 12;

const COUNTED_STATES = ['pending', 'started', 'succeeded', 'failed', 'canceled', 'gone'] as const;

const countsOf = ({ counts }: Repair): string =>
  COUNTED_STATES.filter((state) => counts[state] > 0)
    .map((state) => `${counts[state]} ${state}`)
    .join(', ');

const stopText = ({ stopReason, stopMessage }: Repair): string => {
  if (stopReason === null) return '';
  return ` (${stopReason}${stopMessage === null ? '' : `: ${stopMessage}`})`;
};

/** Formats the progress: `rep_... running: 120 of 500; 380 pending, 2 started, 118 succeeded`. */
export function progressLine(repair: Repair): string {
  const { repairId, state, counts, undoUntil } = repair;
  const startedCount = counts.total - counts.pending;
  const undoText = state === 'undo-window' && undoUntil !== null ? `; deletion starts at ${instant(undoUntil)}` : '';
  return `${repairId} ${state}: ${startedCount} of ${counts.total}; ${countsOf(repair) || 'nothing to do'}${undoText}${stopText(repair)}`;
}

export function repairReport(screen: Screen, repair: Repair): string {
  const { plan, canary, action, counts, ratePerSecond } = repair;
  const rows: (readonly [string, string])[] = [
    ['repair', repair.repairId],
    ['action', action],
    ['state', `${repair.state}${stopText(repair)}`],
    ['entries', `${counts.total}${plan.more ? ' (more match; plan another repair for the rest)' : ''}`],
  ];
  if (repair.startedAt !== null) rows.push(['counts', countsOf(repair) || '-']);
  if (plan.oldestAt !== null) rows.push(['failed', `${instant(plan.oldestAt)} to ${instant(plan.newestAt)}`]);
  if (action === 'resume') rows.push(['steps kept', String(plan.stepsKept)]);
  if (action !== 'delete') {
    rows.push(['messages', `${plan.messagesAtLeast} or more`]);
    const rateText = ratePerSecond === null ? 'at 1 per second' : `at ${ratePerSecond} per second`;
    rows.push(['duration', `${duration(plan.expectedDurationMs)} ${rateText}`]);
  }
  if (canary) {
    const { total, ended, succeeded, failed, maxFailurePercent } = canary;
    rows.push(['canary', `${ended} of ${total} ended, ${succeeded} succeeded, ${failed} failed; limit ${maxFailurePercent}%`]);
    for (const group of canary.groups) {
      const name = group.message || group.fingerprint || 'without a group';
      rows.push(['', `${group.verdict}: ${group.failed} of ${group.total} failed again: ${shorten(name, MAX_ERROR_LENGTH)}`]);
    }
  }
  if (repair.undoUntil !== null) rows.push(['undo until', instant(repair.undoUntil)]);
  const lines = rows.map(([name, text]) => `${styled(screen, 'dim', name.padEnd(NAME_WIDTH))}${text}\n`);
  const workflows = plan.workflows.slice(0, MAX_WORKFLOWS).map(({ workflowUrl, count }) => [count, workflowUrl]);
  const groups = plan.groups.slice(0, MAX_WORKFLOWS).map(({ fingerprint, count, message }) => [count, fingerprint, message]);
  if (workflows.length > 0) lines.push('\n', table(screen, ['COUNT', 'WORKFLOW'], workflows));
  if (groups.length > 0) lines.push('\n', table(screen, ['COUNT', 'FINGERPRINT', 'ERROR'], groups));
  return lines.join('');
}

export const repairTable = (screen: Screen, repairs: readonly Repair[]): string =>
  table(
    screen,
    ['REPAIR', 'PLANNED (UTC)', 'ACTION', 'STATE', 'ENTRIES', 'SUCCEEDED', 'FAILED', 'PENDING'],
    repairs.map(({ repairId, createdAt, action, state, counts }) => [
      ...[repairId, instant(createdAt), action, state],
      ...[counts.total, counts.succeeded, counts.failed, counts.pending],
    ]),
  );

export const repairItemTable = (screen: Screen, items: readonly RepairItem[]): string =>
  table(
    screen,
    ['ENTRY', 'RUN', 'STATE', 'NEW RUN', 'NEW ENTRY', 'ERROR'],
    items.map((item) => [
      ...[item.dlqId, item.workflowRunId, item.state, item.newWorkflowRunId, item.newDlqId],
      item.error === null ? null : shorten(item.error, MAX_ERROR_LENGTH),
    ]),
  );
