/** How a destination's answers trip its breaker, and how it is let go again. Pure. */
import type { BreakerSettings, DestinationHold } from '../../engine/runs/run.js';
import type { DeliveryResult } from './passage.js';

export interface Standing {
  readonly hold: DestinationHold | null;
  /** Failed deliveries in a row. */
  readonly failures: number;
  readonly lastError: string | null;
  /** Unix ms from which on one delivery may be let through; null when nothing is held by the breaker. */
  readonly probeAt: number | null;
}

export const GOOD_STANDING: Standing = { hold: null, failures: 0, lastError: null, probeAt: null };

export interface Outcome {
  readonly origin: string;
  readonly result: DeliveryResult;
  /** The delivery was let through to see whether the destination is back. */
  readonly probe: boolean;
  /** Unix ms. */
  readonly at: number;
}

/**
 * What is known of a destination after a delivery. While the breaker holds it, only a probe says whether it is back:
 * what was under way before is old news.
 */
export function standingAfter(standing: Standing, { origin, result, probe, at }: Outcome, settings: BreakerSettings): Standing {
  const { hold } = standing;
  const byBreaker = hold?.by === 'breaker';
  if (result.kind === 'not-made') return byBreaker && probe ? { ...standing, probeAt: at } : standing;
  if (result.kind === 'delivered') {
    if (byBreaker) return probe ? GOOD_STANDING : standing;
    return hold ? { ...standing, failures: 0, lastError: null } : GOOD_STANDING;
  }
  const failures = standing.failures + 1;
  const lastError = result.error;
  if (byBreaker) return { hold, failures, lastError, probeAt: probe ? at + settings.probeEveryMs : standing.probeAt };
  if (hold || !settings.enabled || failures < settings.failures) return { ...standing, failures, lastError };
  const reason = `${failures} deliveries in a row failed, the last one with: ${result.error}`;
  return { hold: { origin, by: 'breaker', reason, since: at }, failures, lastError, probeAt: at + settings.probeEveryMs };
}

/** What is known of a destination that the store says is held. When it was tried last is not known: a full interval passes. */
export function restoredStanding(hold: DestinationHold, settings: BreakerSettings, now: number): Standing {
  if (hold.by === 'hand') return { ...GOOD_STANDING, hold };
  return { hold, failures: settings.failures, lastError: null, probeAt: now + settings.probeEveryMs };
}
