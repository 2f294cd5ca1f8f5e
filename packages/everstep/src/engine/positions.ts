/** Which positions of a run are taken, found out from its journal and its tasks. */
import type { Run } from './run.js';

/** The first position that is not recorded, and those recorded behind it. */
export function positionsIn(recorded: readonly number[]): Pick<Run, 'known' | 'ahead'> {
  const taken = new Set(recorded);
  let known = 1;
  while (taken.has(known)) known++;
  const ahead = recorded.filter((stepId) => stepId > known);
  return ahead.length > 0 ? { known, ahead } : { known };
}

/** What a store knows of it without reading the journal. */
export interface TakenPositions {
  /** Entries of the journal. */
  readonly entries: number;
  /** The highest position in it; 0 when it is empty. */
  readonly lastStepId: number;
  /** The highest slot of an open task; 0 for none. */
  readonly lastSlot: number;
}

/**
 * The next position; null where the journal has to be read to know it: something is recorded behind what is neither
 * recorded nor owed, in a fork whose code was not asked yet.
 */
export function nextPosition({ entries, lastStepId, lastSlot }: TakenPositions): number | null {
  return lastSlot > 0 || entries >= lastStepId ? Math.max(lastStepId, lastSlot) + 1 : null;
}
