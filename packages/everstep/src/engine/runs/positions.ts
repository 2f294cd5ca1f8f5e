/** Computes which positions of a run are taken, from its journal and its tasks. */
import type { Run } from './run.js';

/** Returns the first position that is not recorded, and the recorded positions after it. */
export function positionsIn(recorded: readonly number[]): Pick<Run, 'nextStepId' | 'ahead'> {
  const recordedPositions = new Set(recorded);
  let nextStepId = 1;
  while (recordedPositions.has(nextStepId)) nextStepId++;
  const ahead = recorded.filter((stepId) => stepId > nextStepId);
  return ahead.length > 0 ? { nextStepId, ahead } : { nextStepId };
}

/** Positions as a store knows them without reading the journal. */
export interface TakenPositions {
  /** Number of journal entries. */
  readonly entries: number;
  /** Highest position in the journal; 0 if it is empty. */
  readonly lastStepId: number;
  /** Highest slot of an open task; 0 if there is none. */
  readonly lastSlot: number;
}

/**
 * Returns the next position, or null if the journal must be read to find it. This is so in a fork whose code has not been called
 * yet: a position may be recorded after one that is neither recorded nor planned.
 */
export function nextPosition({ entries, lastStepId, lastSlot }: TakenPositions): number | null {
  return lastSlot > 0 || entries >= lastStepId ? Math.max(lastStepId, lastSlot) + 1 : null;
}
