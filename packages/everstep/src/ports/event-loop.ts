/** Access to the event loop of this process: how busy it was, and waiting for a turn. */
export interface EventLoop {
  /** Returns the total time that the event loop was busy, in ms. */
  busyMs(): number;
  /** Waits for `ms`. If `ms` is 0, waits until other work has had a turn of the event loop. */
  wait(ms: number): Promise<void>;
}
