/** Derives the facts of a unit from those of its guards and writes. */
import { type CommitUnit, guardFacts, writeFacts } from '../writes.js';
import type { ConflictKeys, GuardFacts } from './facts.js';

/** Weight of a write without its contents. */
const ROW_BYTES = 200;

/**
 * Returns the queue instance of a unit; null if it cannot be determined. All guards and writes of a unit belong to one
 * instance. `findInstanceOfRun` returns the instance of a run, or null if there is no such run.
 */
export function instanceOf({ guards, writes }: CommitUnit, findInstanceOfRun?: (runKey: string) => string | null): string | null {
  for (const write of writes) {
    const facts = writeFacts(write);
    const instanceId = facts.instanceId(write) ?? instanceOfRun(facts.runKey(write), findInstanceOfRun);
    if (instanceId !== null) return instanceId;
  }
  for (const guard of guards) {
    const facts = guardFacts(guard);
    const instanceId = facts.instanceId(guard) ?? instanceOfRun(facts.runKey(guard), findInstanceOfRun);
    if (instanceId !== null) return instanceId;
  }
  return null;
}

const instanceOfRun = (runKey: string | null, findInstanceOfRun?: (runKey: string) => string | null): string | null =>
  runKey === null || !findInstanceOfRun ? null : findInstanceOfRun(runKey);

/** Returns approximately how many bytes the unit makes the store write. */
export const weightOf = ({ writes }: CommitUnit): number =>
  writes.reduce((sum, write) => sum + ROW_BYTES + writeFacts(write).weight(write), 0);

/** Returns each conflict key once. Units without a common key can be written in any order, and at the same time. */
export function conflictKeysOf({ guards, writes }: CommitUnit): readonly string[] {
  const conflictKeys = new Set<string>();
  const addRun = (runKey: string): void => void conflictKeys.add(`run ${runKey}`);
  const keys: ConflictKeys = {
    run: addRun,
    namedRun: addRun,
    object: (object, instanceId, id) => void conflictKeys.add(`${object} ${instanceId}\n${id}`),
  };
  for (const guard of guards) reportConflicts(guardFacts(guard), guard, keys);
  for (const write of writes) reportConflicts(writeFacts(write), write, keys);
  return [...conflictKeys];
}

/** Reports the run of a guard or write, and everything else that it conflicts with. */
export function reportConflicts<Part>(facts: GuardFacts<Part>, part: Part, keys: ConflictKeys): void {
  const runKey = facts.runKey(part);
  if (runKey !== null) keys.run(runKey);
  facts.conflicts(part, keys);
}
