/** Measures how busy the event loop of this process is. */
export interface LoopTime {
  /** Total time that the event loop was busy, in ms. */
  busyMs(): number;
  /** Waits. With 0: until other work has had a turn of the event loop. */
  wait(ms: number): Promise<void>;
}
