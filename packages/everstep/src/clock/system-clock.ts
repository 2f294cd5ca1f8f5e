/**
 * The machine's clock, made monotonic: it never goes backwards, even if the machine's time is set back.
 * Keeps invariant 31.
 */
import type { Clock } from '../ports/clock.js';
import { elapsedMs } from './machine-time.js';

/** Longest time between two checks of a timer, so that it still fires in time if the machine slept or its time was set forward. */
const MAX_TIMER_MS = 60_000;

export interface SystemClockOptions {
  /** Earliest start of the clock, Unix ms: the latest time that the store has recorded. */
  readonly notBefore?: number;
  /** Returns the machine's time, Unix ms. */
  readonly wall?: () => number;
}

export function createSystemClock({ notBefore = 0, wall = Date.now }: SystemClockOptions = {}): Clock {
  let latestMs = notBefore;
  /** Milliseconds by which this clock is ahead of a machine whose time was set back. Time continues from its last value. */
  let aheadMs = 0;

  function now(): number {
    const machineMs = wall() + aheadMs;
    if (machineMs < latestMs) aheadMs += latestMs - machineMs;
    else latestMs = machineMs;
    return latestMs;
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

/**
 * Creates a clock that returns milliseconds since an arbitrary time, for timeouts within this process. It does not change when the
 * time of the machine or of the database is set.
 */
export const createElapsedClock = (): Clock => createSystemClock({ wall: elapsedMs });
