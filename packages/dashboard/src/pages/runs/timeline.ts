/** Builds the timeline of a run from its journal: a row per step with its attempts, waits and sleeps. */
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';

export type SegmentKind =
  /** The step is planned but not started. */
  | 'queued'
  /** A failed attempt. */
  | 'failed'
  /** The time before the next attempt. */
  | 'backoff'
  | 'work'
  | 'sleep'
  | 'wait'
  | 'call'
  | 'invoke';

export interface Segment {
  readonly kind: SegmentKind;
  /** Start of the segment, Unix ms. */
  readonly from: number;
  /** End of the segment, Unix ms; null while it continues. */
  readonly to: number | null;
}

export type RowState = 'done' | 'open' | 'retrying' | 'failed' | 'canceled';

export interface TimelineRow {
  /** Unique key: the message, and the step if there is one. */
  readonly key: string;
  /** Position of the step; null for workflow code. */
  readonly stepId: number | null;
  readonly name: string;
  readonly type: string;
  readonly state: RowState;
  readonly segments: readonly Segment[];
  readonly from: number;
  readonly to: number | null;
  readonly failedAttempts: number;
  /** Position of the first step of the group; steps of one group ran at the same time. */
  readonly group: number | null;
  readonly groupPosition: 'single' | 'first' | 'middle' | 'last';
  readonly isEdited: boolean;
  /** Whether the result was recorded by the run that this run continues. */
  readonly isKept: boolean;
}

type JournalStep = RunJournal['steps'][number];
type OpenTask = RunJournal['tasks'][number];
type FailedAttempt = RunJournal['attempts'][number];
type UngroupedRow = Omit<TimelineRow, 'groupPosition'>;

const LAST_SEGMENTS: Readonly<Record<string, SegmentKind>> = {
  SleepFor: 'sleep',
  SleepUntil: 'sleep',
  Wait: 'wait',
  WaitForWebhook: 'wait',
  Call: 'call',
  Invoke: 'invoke',
};
const lastSegment = (type: string): SegmentKind => LAST_SEGMENTS[type] ?? 'work';

interface StepTimes {
  /** When the last attempt started; null if that is unknown. */
  readonly startedAt: number | null;
  readonly type: string;
  readonly createdAt: number;
  /** When the step succeeded; null if it has not. */
  readonly completedAt: number | null;
  /** When the run ended; no segment ends later. */
  readonly runEnd: number | null;
}

function segmentsOf(times: StepTimes, failed: readonly FailedAttempt[]): Segment[] {
  const { startedAt, type, createdAt, completedAt, runEnd } = times;
  const segments: Segment[] = [];
  const add = (kind: SegmentKind, from: number, to: number | null) => {
    if (to === null || to > from || kind === 'failed' || kind === 'work') segments.push({ kind, from, to });
  };
  let segmentStart = createdAt;
  /** Kind of the time before the next attempt. */
  let idleKind: SegmentKind = 'queued';
  for (const [index, { startedAt: sentAt, time, retryAt }] of failed.entries()) {
    const start = Math.min(time, Math.max(segmentStart, sentAt ?? segmentStart));
    add(idleKind, segmentStart, start);
    add('failed', start, time);
    segmentStart = time;
    idleKind = 'backoff';
    if (retryAt === undefined) return segments;
    // Without a recorded start, assume that the next attempt started when it was due.
    const nextAttempt = failed[index + 1];
    const nextStart = (nextAttempt === undefined ? startedAt : nextAttempt.startedAt) ?? retryAt;
    const end = Math.min(nextStart, completedAt ?? runEnd ?? nextStart);
    add('backoff', segmentStart, Math.max(segmentStart, end));
    segmentStart = Math.max(segmentStart, end);
    idleKind = 'queued';
  }
  const start = Math.max(segmentStart, startedAt ?? segmentStart);
  const kind = lastSegment(type);
  const end = completedAt ?? runEnd;
  if (completedAt === null && runEnd !== null && (kind === 'work' || kind === 'call')) {
    // The run ended before the step was recorded, so it is unknown whether the step started.
    add('queued', segmentStart, runEnd);
    return segments;
  }
  if (kind === 'work' || kind === 'call') add('queued', segmentStart, start);
  add(kind, kind === 'work' || kind === 'call' ? start : segmentStart, end);
  return segments;
}

function stateOfOpen(journal: RunJournal, failed: readonly FailedAttempt[]): RowState {
  const lastAttempt = failed.at(-1);
  if (journal.workflowState === 'RUN_STARTED') return lastAttempt === undefined ? 'open' : 'retrying';
  return journal.workflowState === 'RUN_FAILED' && lastAttempt !== undefined && lastAttempt.retryAt === undefined
    ? 'failed'
    : 'canceled';
}

/** Returns the group of an open step. Steps of a group were created at the same time. */
function groupOfOpen(journal: RunJournal, { createdAt }: OpenTask): number | null {
  const positions = [...journal.steps, ...journal.tasks].flatMap((step) =>
    step.stepId !== undefined && step.createdAt === createdAt ? [step.stepId] : [],
  );
  return positions.length > 1 ? Math.min(...positions) : null;
}

/** Returns the rows of a run ordered by start time; steps of a group stay together. */
export function timelineOf(journal: RunJournal): TimelineRow[] {
  const runEnd = journal.workflowRunCompletedAt ?? null;
  const failedByMessage = new Map<string, FailedAttempt[]>();
  for (const attempt of journal.attempts) {
    const messageAttempts = failedByMessage.get(attempt.messageId);
    if (messageAttempts) messageAttempts.push(attempt);
    else failedByMessage.set(attempt.messageId, [attempt]);
  }
  const takeFailedAttempts = (messageId: string): readonly FailedAttempt[] => {
    const failed = failedByMessage.get(messageId) ?? [];
    failedByMessage.delete(messageId);
    return failed;
  };
  const rowOf = (
    { messageId, createdAt }: { readonly messageId: string; readonly createdAt: number },
    step: { readonly stepId: number | null; readonly name: string; readonly type: string; readonly group: number | null },
    progress: {
      readonly state: RowState;
      readonly startedAt: number | null;
      readonly completedAt: number | null;
      readonly isEdited: boolean;
    },
    failed: readonly FailedAttempt[],
  ): UngroupedRow => ({
    key: `${step.stepId ?? ''} ${messageId}`,
    ...step,
    state: progress.state,
    segments: segmentsOf({ ...progress, type: step.type, createdAt, runEnd }, failed),
    from: createdAt,
    to: progress.completedAt ?? (progress.state === 'failed' ? (failed.at(-1)?.time ?? runEnd) : runEnd),
    failedAttempts: failed.length,
    isEdited: progress.isEdited,
    isKept: false,
  });
  const runStart = journal.workflowCreatedAt;
  const recordedRows = journal.steps.map((step: JournalStep): UngroupedRow => {
    const row = rowOf(
      step,
      { stepId: step.stepId, name: step.stepName, type: step.stepType, group: step.concurrent > 1 ? step.group : null },
      {
        state: 'done',
        startedAt: step.startedAt ?? null,
        completedAt: step.completedAt,
        isEdited: 'edited' in step && step.edited === true,
      },
      takeFailedAttempts(step.messageId),
    );
    // Recorded by an earlier run, so the step has no duration in this one.
    return step.createdAt < runStart ? { ...row, segments: [], from: runStart, to: runStart, isKept: true } : row;
  });
  const openRows = journal.tasks.flatMap((task: OpenTask) => {
    const failed = takeFailedAttempts(task.messageId);
    // Calls to the workflow code are shown only if they failed or are the only open task.
    if (task.kind === 'callback' || (task.kind === 'advance' && failed.length === 0 && journal.tasks.length > 1)) return [];
    if (task.kind === 'advance' && failed.length === 0 && journal.workflowState !== 'RUN_STARTED') return [];
    const stepId = task.stepId ?? null;
    const name = task.stepName ?? failed.at(-1)?.stepName ?? 'Workflow code';
    const state = stateOfOpen(journal, failed);
    return [
      rowOf(
        task,
        { stepId, name, type: task.stepType ?? 'Code', group: stepId === null ? null : groupOfOpen(journal, task) },
        { state, startedAt: null, completedAt: null, isEdited: false },
        failed,
      ),
    ];
  });
  const unmatchedRows = [...failedByMessage].map(([messageId, failed]) => {
    const [firstAttempt] = failed;
    const startedAt = firstAttempt?.startedAt ?? firstAttempt?.time ?? journal.workflowCreatedAt;
    const lastAttempt = failed.at(-1);
    const state: RowState = lastAttempt?.retryAt === undefined ? 'failed' : 'done';
    const row = rowOf(
      { messageId, createdAt: startedAt },
      { stepId: firstAttempt?.stepId ?? null, name: firstAttempt?.stepName ?? 'Workflow code', type: 'Code', group: null },
      { state, startedAt: null, completedAt: lastAttempt?.retryAt ?? null, isEdited: false },
      failed,
    );
    // The result of the last attempt has its own row.
    return { ...row, segments: row.segments.filter(({ kind }) => kind !== 'work'), to: lastAttempt?.time ?? row.to };
  });
  return addGroupPositions([...recordedRows, ...openRows, ...unmatchedRows]);
}

function addGroupPositions(rows: readonly UngroupedRow[]): TimelineRow[] {
  const groupStarts = new Map<number, number>();
  for (const { group, from } of rows) if (group !== null) groupStarts.set(group, Math.min(from, groupStarts.get(group) ?? from));
  const startOf = (row: UngroupedRow): number => (row.group === null ? row.from : (groupStarts.get(row.group) ?? row.from));
  const order = (row: UngroupedRow): number => row.stepId ?? Number.MAX_SAFE_INTEGER;
  const sorted = [...rows].sort(
    (a, b) => startOf(a) - startOf(b) || (a.group ?? order(a)) - (b.group ?? order(b)) || order(a) - order(b),
  );
  return sorted.map((row, index) => {
    const hasPrevious = row.group !== null && sorted[index - 1]?.group === row.group;
    const hasNext = row.group !== null && sorted[index + 1]?.group === row.group;
    return { ...row, groupPosition: hasPrevious ? (hasNext ? 'middle' : 'last') : hasNext ? 'first' : 'single' };
  });
}
