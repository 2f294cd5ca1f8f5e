/** What is said of repairs: states, deeds, verdicts and reports, in plain words. */
import type { RepairEntry, RepairItem } from '../../../../everstep/src/contract/repairs.js';
import { countText, durationText, quantity } from '../../components/formats.js';
import type { IconName } from '../../components/icons.js';
import type { Tone } from '../../components/status-badge.js';

export type RepairState = RepairEntry['state'];
export type RepairAction = RepairEntry['action'];
export type ItemState = RepairItem['state'];

export interface Words {
  readonly text: string;
  readonly tone: Tone;
  readonly icon?: IconName;
}

export const REPAIR_STATES: Readonly<Record<RepairState, Words>> = {
  planning: { text: 'Being planned', tone: 'info', icon: 'dots' },
  planned: { text: 'Planned', tone: 'quiet', icon: 'clock' },
  canary: { text: 'Trying the first', tone: 'info' },
  'canary-passed': { text: 'First did well, waits', tone: 'warn', icon: 'pause' },
  running: { text: 'Running', tone: 'info' },
  paused: { text: 'Paused', tone: 'warn', icon: 'pause' },
  stopped: { text: 'Stopped by itself', tone: 'bad', icon: 'stop' },
  'undo-window': { text: 'Can be undone', tone: 'warn', icon: 'clock' },
  aborted: { text: 'Aborted', tone: 'quiet', icon: 'stop' },
  done: { text: 'Done', tone: 'good' },
};

export const ITEM_STATES: Readonly<Record<ItemState, Words>> = {
  pending: { text: 'Not yet', tone: 'quiet' },
  started: { text: 'Under way', tone: 'info' },
  succeeded: { text: 'Succeeded', tone: 'good' },
  failed: { text: 'Failed again', tone: 'bad' },
  canceled: { text: 'Canceled', tone: 'quiet', icon: 'stop' },
  gone: { text: 'Was gone', tone: 'quiet', icon: 'leave' },
};
/** In the order in which they are told. */
export const ITEM_ORDER = [
  'succeeded',
  'failed',
  'canceled',
  'gone',
  'started',
  'pending',
] as const satisfies readonly ItemState[];

interface Deed {
  readonly verb: string;
  readonly past: string;
}
export const DEEDS: Readonly<Record<RepairAction, Deed>> = {
  resume: { verb: 'Resume', past: 'Resumed' },
  restart: { verb: 'Restart', past: 'Restarted' },
  delete: { verb: 'Delete', past: 'Deleted' },
};

const dead = (count: number): string => quantity(count, 'dead letter');

/** `Resume 500 dead letters` */
export const titleOf = ({ action, counts }: Pick<RepairEntry, 'action' | 'counts'>): string =>
  `${DEEDS[action].verb} ${dead(counts.total)}`;

/** Nothing will become of it any more. */
export const isOver = ({ state }: Pick<RepairEntry, 'state'>): boolean =>
  state === 'done' || state === 'aborted' || state === 'stopped';

/** What starting a plan does, sentence by sentence. */
export function consequences({ action, counts, plan }: Pick<RepairEntry, 'action' | 'counts' | 'plan'>): readonly string[] {
  const { total } = counts;
  const runs = quantity(total, 'new run');
  const billed = `At least ${quantity(plan.messagesAtLeast, 'message')} ${plan.messagesAtLeast === 1 ? 'is' : 'are'} billed; steps that are still to be done come on top.`;
  switch (action) {
    case 'resume':
      return [
        `${runs} ${total === 1 ? 'is made, which' : 'are made, each of which'} goes on at the step that failed.`,
        plan.stepsKept === 0
          ? 'No step was recorded before the failures, so nothing is kept and they begin at the first step.'
          : `${quantity(plan.stepsKept, 'recorded step')} ${plan.stepsKept === 1 ? 'is' : 'are'} kept and not done again.`,
        billed,
        'Each dead letter leaves the queue as its run begins. A run that fails again comes back as a new one.',
      ];
    case 'restart':
      return [
        `${runs} ${total === 1 ? 'is made, which' : 'are made, each of which'} begins at the first step, with the same input.`,
        'What was recorded is not used: steps that succeeded before are done again, with all their effects.',
        billed,
        'Each dead letter leaves the queue as its run begins. A run that fails again comes back as a new one.',
      ];
    case 'delete':
      return [
        `${dead(total)} ${total === 1 ? 'leaves' : 'leave'} the queue and can be neither resumed nor restarted afterwards.`,
        'The runs themselves stay in the log, as long as it is kept.',
        'Nothing is deleted before the undo window is over. Until then one click undoes it.',
      ];
  }
}

/** How long it takes to begin so many at a rate, ms. */
export const durationAtRateMs = (count: number, ratePerSecond: number): number => Math.ceil((count / ratePerSecond) * 1000);

/** `5 a second`, `1 every 10 s` */
export function rateText(ratePerSecond: number): string {
  if (ratePerSecond >= 1) return `${countText(ratePerSecond)} a second`;
  return `1 every ${durationText(1000 / ratePerSecond)}`;
}

export const endedOf = ({ succeeded, failed, canceled, gone }: RepairEntry['counts']): number =>
  succeeded + failed + canceled + gone;

/** How it goes, in a sentence: read aloud when it changes. */
export function standing(repair: RepairEntry): string {
  const { state, counts, action, canary, stopMessage } = repair;
  const some = counts.failed > 0 ? `, ${countText(counts.failed)} failed again` : '';
  const done = action === 'delete' ? `${countText(counts.succeeded)} deleted` : `${countText(counts.succeeded)} succeeded${some}`;
  switch (state) {
    case 'planning':
      return 'The dead letters that it covers are being gathered.';
    case 'planned':
      return 'Nothing has happened yet.';
    case 'canary':
      return `The first ${countText(canary?.total ?? 0)} are tried; the rest waits for how they end.`;
    case 'canary-passed':
      return `The first did well: ${countText(canary?.succeeded ?? 0)} of ${countText(canary?.total ?? 0)} succeeded. The rest waits for you.`;
    case 'running':
      return `Under way: ${done} of ${countText(counts.total)}.`;
    case 'paused':
      return `Paused: ${done}, ${countText(counts.pending)} not begun.${because(stopMessage)}`;
    case 'stopped':
      return `It stopped by itself${stopMessage === null ? '' : `: ${stopMessage}`}. ${notTouched(counts.pending)}`;
    case 'undo-window':
      return 'Nothing is deleted yet.';
    case 'aborted':
      return repair.stopReason === 'undone'
        ? 'Undone: nothing was deleted.'
        : repair.startedAt === null
          ? 'The plan was put away; nothing was done.'
          : `Aborted: ${done}. ${notTouched(counts.pending)}`;
    case 'done':
      return `Done: ${done} of ${countText(counts.total)}.`;
  }
}

const because = (message: string | null): string => (message === null ? '' : ` ${message[0]?.toUpperCase()}${message.slice(1)}.`);
const notTouched = (pending: number): string =>
  pending === 0
    ? 'No other was left.'
    : `${dead(pending)} ${pending === 1 ? 'was' : 'were'} not touched and ${pending === 1 ? 'stays' : 'stay'} in the queue.`;

export interface Verdict {
  readonly words: Words;
  readonly text: string;
}

/** What the first few say. */
export function canaryVerdict({
  canary,
  state,
  stopReason,
}: Pick<RepairEntry, 'canary' | 'state' | 'stopReason'>): Verdict | null {
  if (canary === null) return null;
  const { total, ended, failed, maxFailurePercent } = canary;
  const limit = `stops when more than ${maxFailurePercent} % fail again`;
  if (stopReason === 'canary-failed')
    return { words: { text: 'Failed', tone: 'bad' }, text: `${countText(failed)} of ${countText(total)} failed again; ${limit}` };
  if (ended === total && (state !== 'aborted' || failed * 100 <= total * maxFailurePercent))
    return {
      words: { text: 'Passed', tone: 'good' },
      text: `${countText(failed)} of ${countText(total)} failed again; ${limit}`,
    };
  if (state === 'aborted')
    return {
      words: { text: 'Cut short', tone: 'quiet', icon: 'stop' },
      text: `${countText(ended)} of ${countText(total)} had ended`,
    };
  return {
    words: { text: 'Being watched', tone: 'info' },
    text: `${countText(ended)} of ${countText(total)} have ended, ${countText(failed)} failed again; ${limit}`,
  };
}
