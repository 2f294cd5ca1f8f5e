/**
 * The decisions of a repair: a bulk job over dead letters that were frozen when it was planned. A repair can try a
 * few entries first (the canary), runs at a set rate, and can be paused and aborted. This module only decides; the
 * runtime starts entries and reports their outcomes.
 * Keeps invariant 16.
 */
import { truncateText } from '@everstep/sdk/protocol';

export type RepairAction = 'resume' | 'restart' | 'delete';

/** Phases of a repair. */
export const REPAIR_PHASES = [
  /** The entries are being frozen. */
  'planning',
  'planned',
  /** The entries of the canary are started and monitored. */
  'canary',
  /** The canary passed; the repair waits for `continue`. */
  'canary-passed',
  'running',
  'paused',
  /** Stopped automatically: too many entries of the canary failed again. */
  'stopped',
  /** The deletion can still be undone: nothing is deleted yet. */
  'undo-window',
  'aborted',
  'done',
] as const;
export type RepairPhase = (typeof REPAIR_PHASES)[number];
/** Phases of repairs that start no more entries, and cannot be started or continued. */
const END_PHASES: readonly RepairPhase[] = ['stopped', 'aborted', 'done'];
/** Phases of all other repairs. */
export const OPEN_PHASES: readonly RepairPhase[] = REPAIR_PHASES.filter((phase) => !END_PHASES.includes(phase));

/** States of an entry of a repair. An entry is `gone` if it was removed from the dead letter queue before it was started. */
export const REPAIR_ITEM_STATES = ['pending', 'started', 'succeeded', 'failed', 'canceled', 'gone'] as const;
export type RepairItemState = (typeof REPAIR_ITEM_STATES)[number];
/** Number of entries in each state. */
export type RepairCounts = Readonly<Record<RepairItemState, number>>;

/** Plan or budget limit that prevents further starts. */
export type LimitReason = 'budget-exceeded' | 'daily-limit-reached' | 'storage-quota-exceeded' | 'too-many-active-runs';

/** Why a repair is paused or has stopped. */
export type RepairStopReason =
  | 'canary-failed'
  | LimitReason
  | 'paused-by-hand'
  | 'aborted-by-hand'
  /** A delete that was aborted before anything was deleted. */
  | 'undone';

/** The canary of a repair: a few entries that are tried first. */
export interface RepairCanary {
  readonly count: number;
  readonly maxFailurePercent: number;
  readonly thenContinue: boolean;
  /** Counts of the chosen entries. */
  readonly counts: RepairCounts;
  /** Counts of the chosen entries by group. Absent before the first round. */
  readonly groups?: readonly CanaryGroup[];
}

/** The canary entries of one failure group. Each group has its own verdict. */
export interface CanaryGroup {
  /** Fingerprint of the group; null for entries without a group. */
  readonly fingerprint: string | null;
  readonly counts: RepairCounts;
}

/** Summary of the entries of a repair. */
export interface RepairPlan {
  /** The most frequent workflows, ordered by count. */
  readonly workflows: readonly { readonly workflowUrl: string; readonly count: number }[];
  /** The most frequent errors, ordered by count. `message` is that of the newest entry of the group when planning ended. */
  readonly groups: readonly { readonly fingerprint: string; readonly message: string; readonly count: number }[];
  /** Times when the first and the last of the runs failed, Unix ms; null if there are no runs. */
  readonly oldestAt: number | null;
  readonly newestAt: number | null;
  /** Number of steps in the journals of the failed runs. */
  readonly recordedSteps: number;
  /** Whether there were more entries than one repair can contain. */
  readonly more: boolean;
}

/** The state of a repair. */
export interface Repair {
  readonly repairId: string;
  readonly instanceId: string;
  readonly action: RepairAction;
  readonly phase: RepairPhase;
  /** The phase that a pause interrupted. */
  readonly paused: 'canary' | 'running' | 'undo-window' | null;
  /** Time when the repair was created, Unix ms. */
  readonly createdAt: number;
  readonly createdBy: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly undoUntil: number | null;
  /** Starts per second. Null means as fast as the store allows. */
  readonly ratePerSecond: number | null;
  readonly canary: RepairCanary | null;
  readonly counts: RepairCounts;
  /**
   * Earliest time of the next start, Unix ms with fractions. It is written before the starts that it admits, so that
   * a crash cannot make the repair faster.
   */
  readonly nextStartAt: number;
  readonly plan: RepairPlan;
  readonly stopReason: RepairStopReason | null;
  readonly stopMessage: string | null;
}

/** Settings for the start of a repair. */
export interface StartSettings {
  readonly ratePerSecond: number | null;
  readonly canary: Omit<RepairCanary, 'counts' | 'groups'> | null;
  readonly undoMs: number;
}

/** A change in the state of one entry. */
export interface ItemMove {
  readonly from: RepairItemState;
  readonly to: RepairItemState;
  readonly isCanary: boolean;
}

/** Something that happened to a repair. */
export type RepairEvent =
  | { readonly kind: 'frozen' }
  | { readonly kind: 'started'; readonly settings: StartSettings }
  | { readonly kind: 'items-moved'; readonly moves: readonly ItemMove[] }
  | { readonly kind: 'paused' }
  /** The plan or the budget of the instance prevents further starts. */
  | { readonly kind: 'held'; readonly reason: LimitReason; readonly message: string }
  /** A person continued the repair. An undefined rate keeps the current one. */
  | { readonly kind: 'continued'; readonly ratePerSecond: number | undefined }
  | { readonly kind: 'aborted' };

/** The new state of a repair, or the reason why the event was rejected. */
export type RepairOutcome =
  | { readonly kind: 'decided'; readonly repair: Repair }
  /** The current phase does not allow this. The message lists the phases that do. */
  | { readonly kind: 'refused'; readonly message: string };

/** The entries that may start now. */
export interface AdmittedStarts {
  readonly of: 'canary' | 'rest';
  readonly count: number;
  /** Groups whose canary has failed. Their other canary entries do not start. */
  readonly excludedGroups: readonly (string | null)[];
}

/** Result of advancing a repair to the current time. */
export interface RepairTick {
  readonly repair: Repair;
  /** Entries to start now; null if none may start. */
  readonly starts: AdmittedStarts | null;
  /** Time of the next decision if nothing happens before then, Unix ms; null if there is none. */
  readonly wakeAt: number | null;
}

/** Shortest time between two rounds, so that a high rate does not cause more of them. */
const MIN_ROUND_MS = 50;
/** Period for which missed starts are made up, after the process was down or busy. */
const MAX_CATCH_UP_MS = 250;
/** Number of entries in one round without a rate. */
const UNPACED_BATCH_SIZE = 100;
/** Approximate number of entries per second without a rate. */
const UNPACED_PER_SECOND = 500;

export const NO_COUNTS: RepairCounts = Object.freeze({ pending: 0, started: 0, succeeded: 0, failed: 0, canceled: 0, gone: 0 });

/** Returns the number of entries in all states. */
export const totalOf = (counts: RepairCounts): number => REPAIR_ITEM_STATES.reduce((sum, state) => sum + counts[state], 0);
const endedCount = (counts: RepairCounts): number => totalOf(counts) - counts.pending - counts.started;

/** Returns whether the repair can no longer change. */
export const isOver = ({ phase, counts }: Repair): boolean =>
  phase === 'done' || ((phase === 'aborted' || phase === 'stopped') && counts.started === 0);

/** Returns whether the repair was aborted before it was started. Its entries are no longer needed. */
export const isDiscardedPlan = ({ phase, startedAt }: Repair): boolean => phase === 'aborted' && startedAt === null;

export type NewRepair = Pick<Repair, 'repairId' | 'instanceId' | 'action' | 'createdAt' | 'createdBy'>;

/** Returns a new repair in the phase `planning`. */
export const newRepair = (properties: NewRepair): Repair => ({
  ...properties,
  phase: 'planning',
  paused: null,
  startedAt: null,
  endedAt: null,
  undoUntil: null,
  ratePerSecond: null,
  canary: null,
  counts: NO_COUNTS,
  nextStartAt: 0,
  plan: { workflows: [], groups: [], oldestAt: null, newestAt: null, recordedSteps: 0, more: false },
  stopReason: null,
  stopMessage: null,
});

/** Verdict on a canary. It is `open` while it is undecided, and `untried` if none of the entries could be tried. */
export type CanaryVerdict = 'open' | 'passed' | 'failed' | 'untried';

/** A single failure does not fail a group of at least this size, unless the percentage is 0. */
const MIN_ENTRIES_FOR_ONE_FAILURE = 3;

/** Returns how many of the entries may fail again; with 0%, none of them. */
const maxFailures = (entries: number, maxFailurePercent: number): number =>
  Math.max(
    Math.floor((entries * maxFailurePercent) / 100),
    entries >= MIN_ENTRIES_FOR_ONE_FAILURE && maxFailurePercent > 0 ? 1 : 0,
  );

/** Returns the verdict on entries of a canary: those of one group, or all. */
export function verdictOn(counts: RepairCounts, maxFailurePercent: number): CanaryVerdict {
  // Entries that were not tried or were canceled do not count. All others may still succeed.
  const countedEntries = totalOf(counts) - counts.gone - counts.canceled;
  if (counts.failed > maxFailures(countedEntries, maxFailurePercent)) return 'failed';
  if (counts.pending + counts.started > 0) return 'open';
  return countedEntries === 0 ? 'untried' : 'passed';
}

/**
 * Returns the verdict of a canary. A group that fails stops immediately; the others continue, so that each group gets a verdict.
 * The canary fails if one group fails, or if there are too many single failures in several groups.
 */
export function canaryVerdict({ counts, maxFailurePercent, groups }: RepairCanary): CanaryVerdict {
  if (groups === undefined) return verdictOn(counts, maxFailurePercent);
  const verdicts = groups.map((group) => verdictOn(group.counts, maxFailurePercent));
  if (verdicts.includes('open')) return 'open';
  if (verdicts.includes('failed') || verdictOn(counts, maxFailurePercent) === 'failed') return 'failed';
  return verdicts.includes('passed') ? 'passed' : 'untried';
}

/** Returns the groups whose canary has failed. */
export const failedGroups = ({ groups = [], maxFailurePercent }: RepairCanary): readonly CanaryGroup[] =>
  groups.filter(({ counts }) => verdictOn(counts, maxFailurePercent) === 'failed');

const PHASE_TEXTS: Readonly<Record<RepairPhase, string>> = Object.freeze({
  planning: 'is still being planned: get it until its state is planned',
  planned: 'is planned but not started',
  canary: 'is running its canary',
  'canary-passed': 'is waiting for continue after its canary',
  running: 'is running',
  paused: 'is paused',
  stopped: 'has stopped after its canary; plan a new repair for the remaining entries',
  'undo-window': 'is in its undo window',
  aborted: 'was aborted; plan a new repair for the remaining entries',
  done: 'is done',
});

const rejection = ({ repairId, phase }: Repair, action: string, requirement: string): RepairOutcome => ({
  kind: 'refused',
  message: `cannot ${action} the repair ${repairId}: it ${PHASE_TEXTS[phase]}; ${action} requires a repair that ${requirement}`,
});
const decision = (repair: Repair): RepairOutcome => ({ kind: 'decided', repair });

/** Returns the decision on an event. `now` is Unix ms. */
export function decideRepair(repair: Repair, event: RepairEvent, now: number): RepairOutcome {
  switch (event.kind) {
    case 'frozen':
      return repair.phase === 'planning'
        ? decision({ ...repair, phase: 'planned' })
        : rejection(repair, 'finish the planning of', 'is being planned');
    case 'started':
      if (repair.phase !== 'planned') return rejection(repair, 'start', 'is planned but not started');
      return decision(startRepair(repair, event.settings, now));
    case 'items-moved':
      return decision(applyMoves(repair, event.moves));
    case 'paused':
      return pauseRepair(repair, 'paused-by-hand', null);
    case 'held':
      return pauseRepair(repair, event.reason, event.message);
    case 'continued':
      return continueRepair(repair, event.ratePerSecond, now);
    case 'aborted':
      return abortRepair(repair, now);
  }
}

function startRepair(repair: Repair, { ratePerSecond, canary, undoMs }: StartSettings, now: number): Repair {
  const startedRepair = { ...repair, startedAt: now, ratePerSecond, nextStartAt: now };
  if (repair.action === 'delete' && undoMs > 0) return { ...startedRepair, phase: 'undo-window', undoUntil: now + undoMs };
  if (canary === null) return { ...startedRepair, phase: 'running' };
  const pending = Math.min(canary.count, repair.counts.pending);
  return { ...startedRepair, phase: 'canary', canary: { ...canary, counts: { ...NO_COUNTS, pending } } };
}

const moveCount = (counts: RepairCounts, { from, to }: ItemMove): RepairCounts =>
  from === to ? counts : { ...counts, [from]: counts[from] - 1, [to]: counts[to] + 1 };

function applyMoves(repair: Repair, moves: readonly ItemMove[]): Repair {
  let { counts, canary } = repair;
  for (const move of moves) {
    counts = moveCount(counts, move);
    if (canary && move.isCanary) canary = { ...canary, counts: moveCount(canary.counts, move) };
  }
  return { ...repair, counts, canary };
}

function pauseRepair(repair: Repair, stopReason: RepairStopReason, stopMessage: string | null): RepairOutcome {
  const { phase } = repair;
  if (phase !== 'canary' && phase !== 'running' && phase !== 'undo-window')
    return rejection(repair, 'pause', 'is running, runs its canary, or is in its undo window');
  return decision({ ...repair, phase: 'paused', paused: phase, stopReason, stopMessage });
}

function continueRepair(repair: Repair, rate: number | undefined, now: number): RepairOutcome {
  const { phase, paused } = repair;
  if (phase !== 'paused' && phase !== 'canary-passed')
    return rejection(repair, 'continue', 'is paused, or waits after its canary');
  return decision({
    ...repair,
    phase: phase === 'paused' && paused !== null ? paused : 'running',
    paused: null,
    ratePerSecond: rate ?? repair.ratePerSecond,
    nextStartAt: Math.max(now, nextStartAtRate(repair, rate)),
    stopReason: null,
    stopMessage: null,
  });
}

/** Returns when the next start is due at a higher rate, counted from the last start. A lower rate applies after the next one. */
function nextStartAtRate({ ratePerSecond, nextStartAt }: Repair, rate: number | undefined): number {
  if (rate === undefined || ratePerSecond === null) return nextStartAt;
  return Math.min(nextStartAt, nextStartAt - 1000 / ratePerSecond + 1000 / rate);
}

/** Whether the repair is a delete that can still be undone, because nothing is deleted yet. */
export const canBeUndone = ({ phase, paused }: Repair): boolean =>
  phase === 'undo-window' || (phase === 'paused' && paused === 'undo-window');

function abortRepair(repair: Repair, now: number): RepairOutcome {
  const { phase } = repair;
  if (END_PHASES.includes(phase)) return rejection(repair, 'abort', 'is not over');
  const isUndone = canBeUndone(repair);
  return decision({
    ...repair,
    phase: 'aborted',
    paused: null,
    endedAt: now,
    stopReason: isUndone ? 'undone' : 'aborted-by-hand',
    stopMessage: isUndone ? 'nothing was deleted' : null,
  });
}

/** Advances the repair to the current time and state. Starts that it admits count toward the rate, whatever their outcome. */
export function tickRepair(current: Repair, now: number): RepairTick {
  const repair = advance(current, now);
  const { phase } = repair;
  if (phase === 'planning') return { repair, starts: null, wakeAt: now };
  if (phase === 'undo-window') return { repair, starts: null, wakeAt: repair.undoUntil };
  if (phase !== 'canary' && phase !== 'running') return { repair, starts: null, wakeAt: null };
  const failedCanaryGroups = phase === 'canary' && repair.canary ? failedGroups(repair.canary) : [];
  const skippedCount = failedCanaryGroups.reduce((sum, group) => sum + group.counts.pending, 0);
  const pendingCount = phase === 'canary' ? (repair.canary?.counts.pending ?? 0) - skippedCount : repair.counts.pending;
  if (pendingCount <= 0) return { repair, starts: null, wakeAt: null };
  if (now < repair.nextStartAt) return { repair, starts: null, wakeAt: Math.ceil(repair.nextStartAt) };
  const { count, nextStartAt } = admittedStarts(repair, pendingCount, now);
  const wakeAt = Math.max(Math.ceil(nextStartAt), now + MIN_ROUND_MS);
  const excludedGroups = failedCanaryGroups.map(({ fingerprint }) => fingerprint);
  const starts: AdmittedStarts = { of: phase === 'canary' ? 'canary' : 'rest', count, excludedGroups };
  return { repair: { ...repair, nextStartAt }, starts, wakeAt };
}

/** Returns how many starts are admitted now, and when the next one is due. At least one is admitted, because its time has come. */
function admittedStarts({ ratePerSecond, nextStartAt }: Repair, pendingCount: number, now: number) {
  if (ratePerSecond === null) return { count: Math.min(pendingCount, UNPACED_BATCH_SIZE), nextStartAt: now };
  const intervalMs = 1000 / ratePerSecond;
  const firstStartAt = Math.max(nextStartAt, now - MAX_CATCH_UP_MS);
  const count = Math.min(pendingCount, Math.floor((now - firstStartAt) / intervalMs) + 1);
  return { count, nextStartAt: firstStartAt + count * intervalMs };
}

/** Returns the repair in its current phase. */
function advance(current: Repair, now: number): Repair {
  let repair = current;
  if (repair.phase === 'undo-window' && now >= (repair.undoUntil ?? 0)) repair = { ...repair, phase: 'running' };
  if (repair.phase === 'canary' && repair.canary) repair = decideCanary(repair, repair.canary, now);
  const { phase, counts } = repair;
  if (phase === 'running' && counts.pending === 0 && counts.started === 0) return { ...repair, phase: 'done', endedAt: now };
  return repair;
}

function decideCanary(repair: Repair, canary: RepairCanary, now: number): Repair {
  const verdict = canaryVerdict(canary);
  switch (verdict) {
    case 'open':
      return repair;
    case 'failed': {
      const { failed } = canary.counts;
      const summary = `${failed} of the first ${totalOf(canary.counts)} failed again, which is more than ${canary.maxFailurePercent}%`;
      const stopMessage = `${summary}${groupsText(repair.plan, canary)}; ${endedCount(canary.counts)} had ended`;
      return { ...repair, phase: 'stopped', endedAt: now, stopReason: 'canary-failed', stopMessage };
    }
    case 'passed':
    case 'untried':
      if (repair.counts.pending === 0) return { ...repair, phase: 'running' };
      // A canary whose entries were all gone does not continue automatically.
      return { ...repair, phase: canary.thenContinue && verdict === 'passed' ? 'running' : 'canary-passed' };
  }
}

/** Maximum length of the message of a group in the reason for a stop, in characters. */
const GROUP_NAME_LENGTH = 80;

/** Names the groups that failed, or counts those with single failures. Empty if there is only one group. */
function groupsText({ groups: plannedGroups }: RepairPlan, canary: RepairCanary): string {
  const { groups = [] } = canary;
  if (groups.length < 2) return '';
  const failedTexts = failedGroups(canary).map(({ fingerprint, counts }) => {
    const message = plannedGroups.find((group) => group.fingerprint === fingerprint)?.message;
    const name = message === undefined || message === '' ? (fingerprint ?? 'without a group') : message;
    const shortName = name.length > GROUP_NAME_LENGTH ? `${truncateText(name, GROUP_NAME_LENGTH)}…` : name;
    return `"${shortName}" (${counts.failed} of ${totalOf(counts)})`;
  });
  if (failedTexts.length > 0) return `, in ${failedTexts.length} of ${groups.length} groups: ${failedTexts.join(', ')}`;
  return `, in ${groups.filter(({ counts }) => counts.failed > 0).length} of ${groups.length} groups`;
}

/** Minimum number of billed messages: one for each recovered run. */
export const minBilledMessages = ({ action, counts }: Repair): number => (action === 'delete' ? 0 : totalOf(counts));

/**
 * Returns the expected duration in ms. Without a rate, entries are assumed to start one per second, and deletions to run much
 * faster.
 */
export function expectedDurationMs({ action, counts, ratePerSecond }: Repair): number {
  const defaultRate = action === 'delete' ? UNPACED_PER_SECOND : 1;
  return Math.ceil((totalOf(counts) / (ratePerSecond ?? defaultRate)) * 1000);
}
