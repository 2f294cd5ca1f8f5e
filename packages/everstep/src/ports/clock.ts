/** Time, as the runtime sees it. The real one and the simulated one implement this. */
export interface Clock {
  /** Unix ms; never goes backwards within a process. */
  now(): number;
  /** Calls `fire` once at or soon after `atMs`. Returns a function that takes it back. */
  setTimer(atMs: number, fire: () => void): () => void;
  /** Calls `fire` at the end of the present turn of the event loop, so that what arrives together is handled together. */
  endOfTurn(fire: () => void): void;
}
