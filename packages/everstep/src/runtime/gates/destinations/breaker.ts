/** Decides when the responses of a destination open its breaker and close it again. It has no side effects. */
import type { BreakerSettings, DestinationHold } from '../../../engine/runs/run.js';
import type { DeliveryResult } from '../delivery.js';

export interface DestinationState {
  readonly hold: DestinationHold | null;
  /** Number of failed deliveries in a row. */
  readonly failures: number;
  readonly lastError: string | null;
  /** Time from which one delivery may pass as a probe, Unix ms; null if the breaker holds nothing. */
  readonly probeAt: number | null;
}

export const HEALTHY: DestinationState = { hold: null, failures: 0, lastError: null, probeAt: null };

export interface Outcome {
  readonly origin: string;
  readonly result: DeliveryResult;
  /** Whether the delivery was the probe. */
  readonly isProbe: boolean;
  /** Time of the response, Unix ms. */
  readonly at: number;
}

/**
 * Returns the state of a destination after a delivery. While the breaker holds it, only the probe shows whether it works again:
 * other deliveries were sent before the hold.
 */
export function stateAfter(
  state: DestinationState,
  { origin, result, isProbe, at }: Outcome,
  settings: BreakerSettings,
): DestinationState {
  const { hold } = state;
  const isHeldByBreaker = hold?.by === 'breaker';
  if (result.kind === 'not-sent') return isHeldByBreaker && isProbe ? { ...state, probeAt: at } : state;
  // The next probe is already planned, an interval after this one started.
  if (result.kind === 'unknown') return state;
  if (result.kind === 'delivered') {
    if (isHeldByBreaker) return isProbe ? HEALTHY : state;
    return hold ? { ...state, failures: 0, lastError: null } : HEALTHY;
  }
  const failures = state.failures + 1;
  const lastError = result.error;
  if (isHeldByBreaker) return { hold, failures, lastError, probeAt: isProbe ? at + settings.probeEveryMs : state.probeAt };
  if (hold || !settings.enabled || failures < settings.failures) return { ...state, failures, lastError };
  const subject = failures === 1 ? 'a delivery failed' : `${failures} deliveries in a row failed, the last one`;
  const reason = `${subject} with: ${result.error}`;
  return { hold: { origin, by: 'breaker', reason, since: at }, failures, lastError, probeAt: at + settings.probeEveryMs };
}

/** Returns the state of a destination with a stored hold. The time of its last probe is unknown, so a full interval passes. */
export function restoredState(hold: DestinationHold, settings: BreakerSettings, now: number): DestinationState {
  if (hold.by === 'hand') return { ...HEALTHY, hold };
  return { hold, failures: settings.failures, lastError: null, probeAt: now + settings.probeEveryMs };
}
