/** Computes the limits of a flow control key after a change, without side effects. */
import type { FlowControl, FlowControlState } from '../../engine/runs/run.js';
import type { FlowControlChange } from '../services/workflow-service.js';

/** Default length of a rate window. */
const DEFAULT_PERIOD_MS = 1_000;

function pinLimits(state: FlowControlState, limits: Omit<FlowControl, 'key'>): FlowControlState {
  const pinsAll = limits.parallelism === undefined && limits.rate === undefined;
  const parallelism = limits.parallelism ?? state.parallelism;
  const rate = limits.rate ?? state.rate;
  return {
    ...state,
    parallelism,
    rate,
    periodMs: rate === null ? null : (limits.periodMs ?? state.periodMs ?? DEFAULT_PERIOD_MS),
    parallelismPinned: state.parallelismPinned || limits.parallelism !== undefined || (pinsAll && parallelism !== null),
    ratePinned: state.ratePinned || limits.rate !== undefined || (pinsAll && rate !== null),
  };
}

/** Returns the state of a key after a change by a user. */
export function applyChange(state: FlowControlState, change: FlowControlChange): FlowControlState {
  switch (change.kind) {
    case 'pause':
      return { ...state, paused: true };
    case 'resume':
      return { ...state, paused: false };
    case 'pin':
      return pinLimits(state, change.limits);
    case 'unpin':
      // A missing limit is not pinned either.
      return {
        ...state,
        parallelismPinned: state.parallelismPinned && state.parallelism !== null && !change.parallelism,
        ratePinned: state.ratePinned && state.rate !== null && !change.rate,
      };
    case 'reset-rate':
      return { ...state, window: null };
  }
}

/** Returns the part of the stored state that the change writes. */
export const partOf = ({ kind }: FlowControlChange): 'paused' | 'limits' =>
  kind === 'pause' || kind === 'resume' ? 'paused' : 'limits';

/** The limits of a key, without its window. */
export type KeyLimits = Omit<FlowControlState, 'key' | 'window'>;

/** Returns the limits after a trigger that sets some: they replace all limits together, except those that are pinned. */
export function limitsAfterTrigger(limits: KeyLimits, { parallelism, rate, periodMs }: FlowControl): KeyLimits {
  if (parallelism === undefined && rate === undefined) return limits;
  return {
    ...limits,
    ...(limits.parallelismPinned ? {} : { parallelism: parallelism ?? null }),
    ...(limits.ratePinned ? {} : { rate: rate ?? null, periodMs: periodMs ?? null }),
  };
}

export const areSameLimits = (a: KeyLimits, b: KeyLimits): boolean =>
  a.parallelism === b.parallelism &&
  a.rate === b.rate &&
  a.periodMs === b.periodMs &&
  a.paused === b.paused &&
  a.parallelismPinned === b.parallelismPinned &&
  a.ratePinned === b.ratePinned;
