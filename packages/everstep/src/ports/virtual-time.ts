/** Time that is moved on by hand, so that a workflow of a month can be tried out at once. */

/** Where to: so many milliseconds on, or to a point in time (Unix ms). */
export type MoveTarget = { readonly byMs: number } | { readonly atMs: number };

/** `now` is Unix ms on the service's clock; `fired` says how many timers fell due on the way. */
export type MoveOutcome =
  /** Everything that fell due was worked off. */
  | { readonly kind: 'moved'; readonly now: number; readonly fired: number }
  /** The point in time is over; nothing happened. */
  | { readonly kind: 'in-the-past'; readonly now: number }
  /** So many instants were worked off, and there are more before the target. Time stands at the last of them. */
  | { readonly kind: 'too-many-instants'; readonly now: number; readonly fired: number; readonly instants: number }
  /** The service still worked on an instant after this long. Time stands there. */
  | { readonly kind: 'not-quiet'; readonly now: number; readonly fired: number; readonly waitedMs: number }
  /** Whoever asked for it is gone. Time stands where it was. */
  | { readonly kind: 'given-up'; readonly now: number; readonly fired: number };

export interface VirtualTime {
  /** Unix ms. */
  now(): number;
  /**
   * Moves time on. What falls due on the way happens in order: at each instant the service works until it is quiet before
   * time moves to the next. Moves that are asked for at once follow one after the other; a move by 0 ms only waits until
   * the service is quiet.
   */
  move(target: MoveTarget, signal?: AbortSignal): Promise<MoveOutcome>;
}
