/**
 * Several processes on one store. What one of them remembers of an instance
 * another may change: it tells the others, who forget it then; and since that
 * may be lost on its way, nothing is remembered for long.
 */
export interface Sharing {
  /** Ms that only ever grow. */
  readonly elapsedMs: () => number;
  /** Tokens or signing keys of the instance were changed here, durably: others must forget what they know of it. */
  readonly changed: (instanceId: string) => void;
}

/** The longest that a change goes unnoticed of which nobody could tell. */
export const REMEMBERED_MS = 3_000;
