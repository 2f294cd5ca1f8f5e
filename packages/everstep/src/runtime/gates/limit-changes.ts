/** What becomes of a key's limits when a person changes them. Pure. */
import type { FlowControlState } from '../../engine/run.js';
import type { FlowControlChange } from '../workflow-service.js';

/** Length of a rate window when nobody says it. */
const DEFAULT_PERIOD_MS = 1_000;

export function changedLimits(state: FlowControlState, change: FlowControlChange): FlowControlState {
  switch (change.kind) {
    case 'pause':
      return { ...state, paused: true };
    case 'resume':
      return { ...state, paused: false };
    case 'pin': {
      const rate = change.limits.rate ?? state.rate;
      const periodMs = rate === null ? null : (change.limits.periodMs ?? state.periodMs ?? DEFAULT_PERIOD_MS);
      return { ...state, pinned: true, parallelism: change.limits.parallelism ?? state.parallelism, rate, periodMs };
    }
    case 'unpin':
      return { ...state, pinned: false };
    case 'reset-rate':
      return { ...state, window: null };
  }
}

export const sameLimits = (a: FlowControlState, b: FlowControlState): boolean =>
  a.parallelism === b.parallelism &&
  a.rate === b.rate &&
  a.periodMs === b.periodMs &&
  a.paused === b.paused &&
  a.pinned === b.pinned;
