/** Time that is advanced manually, so that a workflow that takes a month can be tested at once. */

/** Target of a move: a number of milliseconds, or a point in time (Unix ms). */
export type MoveTarget = { readonly byMs: number } | { readonly atMs: number };

/** Result of a move. `now` is Unix ms on the server's clock; `fired` is the number of timers that became due. */
export type MoveOutcome =
  /** All due work was completed. */
  | { readonly kind: 'moved'; readonly now: number; readonly fired: number }
  /** The target is in the past; nothing happened. */
  | { readonly kind: 'in-the-past'; readonly now: number }
  /** The limit of `instants` was reached before the target. The clock is at the last processed instant. */
  | { readonly kind: 'too-many-instants'; readonly now: number; readonly fired: number; readonly instants: number }
  /** The server was still working on an instant after `waitedMs`. The clock is at that instant. */
  | { readonly kind: 'not-quiet'; readonly now: number; readonly fired: number; readonly waitedMs: number }
  /** The caller disconnected. The clock stays at its last time. */
  | { readonly kind: 'canceled'; readonly now: number; readonly fired: number };

/** A clock that can be advanced. */
export interface VirtualTime {
  /** Returns the time of the clock, Unix ms. */
  now(): number;
  /**
   * Advances the clock. Due work happens in order: at each instant, the server works until it is quiet before the clock advances to
   * the next instant. Concurrent moves run one after the other. A move by 0 ms only waits until the server is quiet.
   */
  move(target: MoveTarget, signal?: AbortSignal): Promise<MoveOutcome>;
}
