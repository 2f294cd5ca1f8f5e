/** Time for the runtime. The real clock and the simulated clock implement this port. */
export interface Clock {
  /** Returns the current time, Unix ms; milliseconds since an arbitrary time if the clock is one of elapsed time. The time never goes backward within a process. */
  now(): number;
  /** Calls `fire` once at or soon after `atMs`. Returns a function that cancels the timer. */
  setTimer(atMs: number, fire: () => void): () => void;
  /** Calls `fire` at the end of the current turn of the event loop, so that simultaneous arrivals are handled together. */
  endOfTurn(fire: () => void): void;
}
