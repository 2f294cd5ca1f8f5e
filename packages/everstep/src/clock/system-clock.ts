/** The machine's clock, made steady: it never goes backwards, whatever is done to the machine's time. */
import type { Clock } from '../ports/clock.js';

/** Timers look at the time again at least this often, so that a machine that slept or was set forward is noticed. */
const MAX_TIMER_MS = 60_000;

export interface SystemClockOptions {
  /** Unix ms before which the clock does not start: the latest time that the store has recorded. */
  readonly notBefore?: number;
  /** Unix ms as the machine tells it. */
  readonly wall?: () => number;
}

export function createSystemClock({ notBefore = 0, wall = Date.now }: SystemClockOptions = {}): Clock {
  let latest = notBefore;
  /** How far this clock runs ahead of a machine whose time was set back. Time goes on from where it was. */
  let aheadMs = 0;

  function now(): number {
    const told = wall() + aheadMs;
    if (told < latest) aheadMs += latest - told;
    else latest = told;
    return latest;
  }

  return {
    now,
    setTimer(atMs, fire) {
      let timer: NodeJS.Timeout;
      const arm = () => {
        timer = setTimeout(check, Math.max(0, Math.min(atMs - now(), MAX_TIMER_MS)));
      };
      // The machine's timers may fire a millisecond early.
      const check = () => (now() >= atMs ? fire() : arm());
      arm();
      return () => clearTimeout(timer);
    },
    endOfTurn: (fire) => void setImmediate(fire),
  };
}
