/** The time and randomness that a worker depends on. Tests replace them. */

export interface WorkerTime {
  /** Milliseconds since an arbitrary moment. */
  now(): number;
  /** Calls `fire` once after the delay. Returns a function that cancels it. */
  after(delayMs: number, fire: () => void): () => void;
  /** Calls `fire` at the end of this turn of the event loop. */
  endOfTurn(fire: () => void): void;
  /** Returns a number from 0 to 1. */
  random(): number;
}

export const MACHINE_TIME: WorkerTime = {
  now: () => performance.now(),
  after(delayMs, fire) {
    const timer = setTimeout(fire, delayMs);
    return () => clearTimeout(timer);
  },
  endOfTurn(fire) {
    if (typeof setImmediate === 'function') setImmediate(fire);
    else setTimeout(fire, 0);
  },
  random: () => Math.random(),
};
