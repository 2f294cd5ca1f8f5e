/** How busy the event loop of this process is. */
export interface LoopTime {
  /** Ms that the event loop was busy so far. */
  busyMs(): number;
  /** With 0: until others have had a turn of the event loop. */
  wait(ms: number): Promise<void>;
}
