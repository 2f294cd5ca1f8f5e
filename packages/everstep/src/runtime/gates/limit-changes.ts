/** What becomes of a key's limits when a person changes them. Pure. */
import type { FlowControl, FlowControlState } from '../../engine/runs/run.js';
import type { FlowControlChange } from '../services/workflow-service.js';

/** Length of a rate window when nobody says it. */
const DEFAULT_PERIOD_MS = 1_000;

function pinned(state: FlowControlState, limits: Omit<FlowControl, 'key'>): FlowControlState {
  const all = limits.parallelism === undefined && limits.rate === undefined;
  const parallelism = limits.parallelism ?? state.parallelism;
  const rate = limits.rate ?? state.rate;
  return {
    ...state,
    parallelism,
    rate,
    periodMs: rate === null ? null : (limits.periodMs ?? state.periodMs ?? DEFAULT_PERIOD_MS),
    parallelismPinned: state.parallelismPinned || limits.parallelism !== undefined || (all && parallelism !== null),
    ratePinned: state.ratePinned || limits.rate !== undefined || (all && rate !== null),
  };
}

export function changedLimits(state: FlowControlState, change: FlowControlChange): FlowControlState {
  switch (change.kind) {
    case 'pause':
      return { ...state, paused: true };
    case 'resume':
      return { ...state, paused: false };
    case 'pin':
      return pinned(state, change.limits);
    case 'unpin':
      // A limit that the key does not have is not pinned either.
      return {
        ...state,
        parallelismPinned: state.parallelismPinned && state.parallelism !== null && !change.parallelism,
        ratePinned: state.ratePinned && state.rate !== null && !change.rate,
      };
    case 'reset-rate':
      return { ...state, window: null };
  }
}

/** What a key has of its limits. */
export type KeyLimits = Omit<FlowControlState, 'key' | 'window'>;

/** What the limits are when a trigger brings its own: the latest count, all of them together, except those that are pinned. */
export function broughtLimits(limits: KeyLimits, { parallelism, rate, periodMs }: FlowControl): KeyLimits {
  if (parallelism === undefined && rate === undefined) return limits;
  return {
    ...limits,
    ...(limits.parallelismPinned ? {} : { parallelism: parallelism ?? null }),
    ...(limits.ratePinned ? {} : { rate: rate ?? null, periodMs: periodMs ?? null }),
  };
}

export const sameLimits = (a: KeyLimits, b: KeyLimits): boolean =>
  a.parallelism === b.parallelism &&
  a.rate === b.rate &&
  a.periodMs === b.periodMs &&
  a.paused === b.paused &&
  a.parallelismPinned === b.parallelismPinned &&
  a.ratePinned === b.ratePinned;
