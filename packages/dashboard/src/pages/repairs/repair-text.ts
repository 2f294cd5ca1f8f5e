/** Texts about repairs: states, actions, effects, canary results and reports. */
import type { RepairEntry, RepairItem } from '../../../../everstep/src/contract/repairs.js';
import type { IconName } from '../../components/icons.js';
import type { Tone } from '../../components/status-badge.js';
import { countText, durationText, quantity } from '../../components/times/formats.js';

export type RepairState = RepairEntry['state'];
export type RepairAction = RepairEntry['action'];
export type ItemState = RepairItem['state'];

export interface BadgeText {
  readonly text: string;
  readonly tone: Tone;
  readonly icon?: IconName;
}

export const REPAIR_STATES: Readonly<Record<RepairState, BadgeText>> = {
  planning: { text: 'Planning', tone: 'info', icon: 'dots' },
  planned: { text: 'Planned', tone: 'quiet', icon: 'clock' },
  canary: { text: 'Running canary', tone: 'info' },
  'canary-passed': { text: 'Waiting for approval', tone: 'warn', icon: 'pause' },
  running: { text: 'Running', tone: 'info' },
  paused: { text: 'Paused', tone: 'warn', icon: 'pause' },
  stopped: { text: 'Stopped automatically', tone: 'bad', icon: 'stop' },
  'undo-window': { text: 'Can be undone', tone: 'warn', icon: 'clock' },
  aborted: { text: 'Aborted', tone: 'quiet', icon: 'stop' },
  done: { text: 'Done', tone: 'good' },
};

export const ITEM_STATES: Readonly<Record<ItemState, BadgeText>> = {
  pending: { text: 'Pending', tone: 'quiet' },
  started: { text: 'In progress', tone: 'info' },
  succeeded: { text: 'Succeeded', tone: 'good' },
  failed: { text: 'Failed again', tone: 'bad' },
  canceled: { text: 'Canceled', tone: 'quiet', icon: 'stop' },
  gone: { text: 'Already handled', tone: 'quiet', icon: 'leave' },
};
/** Item states in display order. */
export const ITEM_ORDER = [
  'succeeded',
  'failed',
  'canceled',
  'gone',
  'started',
  'pending',
] as const satisfies readonly ItemState[];

interface ActionText {
  readonly verb: string;
  readonly past: string;
}
export const ACTION_TEXTS: Readonly<Record<RepairAction, ActionText>> = {
  resume: { verb: 'Resume', past: 'Resumed' },
  restart: { verb: 'Restart', past: 'Restarted' },
  delete: { verb: 'Delete', past: 'Deleted' },
};

const deadLetterCount = (count: number): string => quantity(count, 'dead letter');

/** Returns the title of a repair: `Resume 500 dead letters` */
export const titleOf = ({ action, counts }: Pick<RepairEntry, 'action' | 'counts'>): string =>
  `${ACTION_TEXTS[action].verb} ${deadLetterCount(counts.total)}`;

/**
 * Returns the label of the start button, which states exactly what it does: `Resume 10 first, then all 500`, `Resume 10 and
 * wait`, `Resume 500 dead letters`
 */
export function startText(
  action: RepairAction,
  total: number,
  canary: { readonly count: number; readonly thenContinue: boolean } | null,
): string {
  const { verb } = ACTION_TEXTS[action];
  if (canary === null || canary.count >= total) return `${verb} ${deadLetterCount(total)}`;
  return canary.thenContinue
    ? `${verb} ${countText(canary.count)} first, then all ${countText(total)}`
    : `${verb} ${countText(canary.count)} and wait`;
}

type CanaryGroup = NonNullable<RepairEntry['canary']>['groups'][number];

const GROUP_VERDICTS: Readonly<Record<CanaryGroup['verdict'], BadgeText>> = {
  open: { text: 'In progress', tone: 'info' },
  passed: { text: 'Passed', tone: 'good' },
  failed: { text: 'Failed', tone: 'bad' },
  untried: { text: 'Already handled', tone: 'quiet', icon: 'leave' },
};

/** Returns the result of one group of the canary. */
export const groupVerdict = ({
  verdict,
  total,
  failed,
  message,
  fingerprint,
}: CanaryGroup): Verdict & { readonly name: string } => ({
  badge: GROUP_VERDICTS[verdict],
  text: `${countText(failed)} of ${countText(total)} failed again`,
  name: message === '' ? (fingerprint ?? 'No error group') : message,
});

/**
 * Returns the label of the button that plans a repair of the remaining dead letters; null if none remain. `isListOfIds` is true if
 * the plan is a list of ids.
 */
export function replanText({ action, counts }: Pick<RepairEntry, 'action' | 'counts'>, isListOfIds: boolean): string | null {
  const { pending } = counts;
  // Runs that failed again are new dead letters, which a list of ids does not include.
  const failedCount = action === 'delete' || isListOfIds ? 0 : counts.failed;
  if (pending + failedCount === 0) return null;
  if (pending === 0) return `Plan repair of the ${countText(failedCount)} that failed again`;
  const text = `Plan repair of the other ${countText(pending)}`;
  return failedCount === 0 ? text : `${text} and the ${countText(failedCount)} that failed again`;
}

/** Returns whether the repair has ended. */
export const isOver = ({ state }: Pick<RepairEntry, 'state'>): boolean =>
  state === 'done' || state === 'aborted' || state === 'stopped';

/** Describes the effects of starting a plan, one sentence per effect. */
export function consequences({ action, counts, plan }: Pick<RepairEntry, 'action' | 'counts' | 'plan'>): readonly string[] {
  const { total } = counts;
  const runs = quantity(total, 'new run');
  const usage = `The repair uses at least ${quantity(plan.messagesAtLeast, 'message')}. Further steps use more.`;
  const requeue =
    'Each dead letter leaves the dead letter queue when its run starts. A run that fails again becomes a new dead letter.';
  const undo = 'The start of a run cannot be undone, but you can pause or abort the repair at any time.';
  switch (action) {
    case 'resume':
      return [
        `${runs} ${total === 1 ? 'starts' : 'start, each'} at the step that failed.`,
        plan.stepsKept === 0
          ? 'No steps were recorded before the failures, so the runs start at the first step.'
          : `${quantity(plan.stepsKept, 'recorded step')} ${plan.stepsKept === 1 ? 'is' : 'are'} kept and not run again.`,
        usage,
        requeue,
        undo,
      ];
    case 'restart':
      return [
        `${runs} ${total === 1 ? 'starts' : 'start, each'} at the first step with the same input.`,
        'Recorded results are not used: all steps run again, including their side effects.',
        usage,
        requeue,
        undo,
      ];
    case 'delete':
      return [
        `${deadLetterCount(total)} ${total === 1 ? 'leaves' : 'leave'} the dead letter queue and can no longer be resumed or restarted.`,
        'The runs themselves stay in the log until their retention ends.',
        'Nothing is deleted until the undo window ends. Until then, you can undo the deletion with one click.',
      ];
  }
}

/** Returns how long it takes to start `count` runs at a rate, ms. */
export const durationAtRateMs = (count: number, ratePerSecond: number): number => Math.ceil((count / ratePerSecond) * 1000);

/** Formats a rate: `5 per second`, `1 every 10 s` */
export function rateText(ratePerSecond: number): string {
  if (ratePerSecond >= 1) return `${countText(ratePerSecond)} per second`;
  return `1 every ${durationText(1000 / ratePerSecond)}`;
}

/** Returns the number of dead letters whose repair has ended. */
export const endedCount = ({ succeeded, failed, canceled, gone }: RepairEntry['counts']): number =>
  succeeded + failed + canceled + gone;

/** Returns the status of a repair in a sentence. Screen readers announce it when it changes. */
export function statusText(repair: RepairEntry): string {
  const { state, counts, action, canary, stopMessage } = repair;
  const failures = counts.failed > 0 ? `, ${countText(counts.failed)} failed again` : '';
  const resultOf = (succeeded: string): string =>
    action === 'delete' ? `${succeeded} deleted` : `${succeeded} succeeded${failures}`;
  const done = resultOf(countText(counts.succeeded));
  const doneOfTotal = resultOf(`${countText(counts.succeeded)} of ${countText(counts.total)}`);
  switch (state) {
    case 'planning':
      return 'Collecting the dead letters of this repair.';
    case 'planned':
      return 'Not started. Nothing has changed.';
    case 'canary':
      return `Running the canary: ${countText(canary?.total ?? 0)} first. The rest waits for the result.`;
    case 'canary-passed':
      return `Canary passed: ${countText(canary?.succeeded ?? 0)} of ${countText(canary?.total ?? 0)} succeeded. The rest is waiting for your approval.`;
    case 'running':
      return `In progress: ${doneOfTotal}.`;
    case 'paused':
      return `Paused: ${done}, ${countText(counts.pending)} pending.${asSentence(stopMessage)}`;
    case 'stopped':
      return `Stopped automatically${stopMessage === null ? '' : `: ${stopMessage}`}. ${notProcessed(counts.pending)}`;
    case 'undo-window':
      return 'Nothing is deleted yet.';
    case 'aborted':
      return repair.stopReason === 'undone'
        ? 'Undone: nothing was deleted.'
        : repair.startedAt === null
          ? 'The plan was discarded; nothing was changed.'
          : `Aborted: ${done}. ${notProcessed(counts.pending)}`;
    case 'done':
      return `Done: ${doneOfTotal}.`;
  }
}

const asSentence = (message: string | null): string =>
  message === null ? '' : ` ${message[0]?.toUpperCase()}${message.slice(1)}.`;
const notProcessed = (pending: number): string =>
  pending === 0
    ? 'No dead letters were left.'
    : `${deadLetterCount(pending)} ${pending === 1 ? 'was' : 'were'} not processed and ${pending === 1 ? 'stays' : 'stay'} in the dead letter queue.`;

export interface Verdict {
  readonly badge: BadgeText;
  readonly text: string;
}

/** Returns the result of the canary; null without one. */
export function canaryVerdict({
  canary,
  state,
  stopReason,
}: Pick<RepairEntry, 'canary' | 'state' | 'stopReason'>): Verdict | null {
  if (canary === null) return null;
  const { total, ended, failed, maxFailurePercent } = canary;
  const limit = `the repair stops if more than ${maxFailurePercent}% of the canary or of an error group fail again`;
  if (stopReason === 'canary-failed')
    return { badge: { text: 'Failed', tone: 'bad' }, text: `${countText(failed)} of ${countText(total)} failed again; ${limit}` };
  if (ended === total && (state !== 'aborted' || failed * 100 <= total * maxFailurePercent))
    return {
      badge: { text: 'Passed', tone: 'good' },
      text: `${countText(failed)} of ${countText(total)} failed again; ${limit}`,
    };
  if (state === 'aborted')
    return {
      badge: { text: 'Aborted', tone: 'quiet', icon: 'stop' },
      text: `${countText(ended)} of ${countText(total)} had ended`,
    };
  return {
    badge: { text: 'In progress', tone: 'info' },
    text: `${countText(ended)} of ${countText(total)} have ended, ${countText(failed)} failed again; ${limit}`,
  };
}
