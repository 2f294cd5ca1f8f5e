/**
 * Creates runs with a copy of another run's journal. A short journal is copied in the unit that creates the run. A long one, or
 * one of many, would block everything else, so it is staged beforehand in slices, each in its own transaction, and the unit
 * adopts it. Until then the run is not visible. A crash leaves only staged steps, which are deleted after the next start.
 * Keeps invariant 45.
 */
import { runOutsideRequest } from '../../audit/audited-request.js';
import { LIMITS, PART_LIMITS } from '../../config/limits.js';
import type { CommitResult, CommitUnit, StoreGuard, StoreWrite } from '../../engine/writes.js';
import type { WorkSlices } from '../../fairness/work-slices.js';
import { readSteps, yieldToOthers } from '../../ports/stores/history-parts.js';
import type { HistoryStore } from '../../ports/stores/history-store.js';
import type { UpkeepStore } from '../../ports/stores/upkeep-store.js';

export interface StagingOptions {
  readonly store: HistoryStore & Pick<UpkeepStore, 'removeStagedSteps'>;
  readonly commit: (unit: CommitUnit) => Promise<CommitResult>;
  readonly slices: Pick<WorkSlices, 'run'>;
  /** Ends the staging before the next slice. The staged steps are then deleted after the next start. */
  readonly signal?: AbortSignal;
}

type CopyWrite = Extract<StoreWrite, { readonly kind: 'copy-journal' }>;
type CreateWrite = Extract<StoreWrite, { readonly kind: 'create-run' }>;

/** A copy that is staged, with its run. */
interface LongCopy {
  readonly copy: CopyWrite;
  readonly run: CreateWrite['run'];
}

/** Returns the copies of the unit that are staged, so that the others together are short enough for one transaction. */
function longCopiesIn({ writes }: CommitUnit): readonly LongCopy[] {
  let [bytes, rows] = [0, 0];
  return writes.flatMap((copy) => {
    if (copy.kind !== 'copy-journal') return [];
    const createWrite = writes.find((write) => write.kind === 'create-run' && write.run.key === copy.toRunKey);
    if (createWrite?.kind !== 'create-run') return [];
    const { run } = createWrite;
    if (bytes + run.journalBytes > PART_LIMITS.maxBytes || rows + run.journalLength > PART_LIMITS.maxRows) return [{ copy, run }];
    [bytes, rows] = [bytes + run.journalBytes, rows + run.journalLength];
    return [];
  });
}

/** Whether the guard, once it has failed, never holds again. The rest of the journal is then not staged. */
const isLasting = ({ kind }: StoreGuard): boolean => kind === 'dead-letters-present' || kind === 'repair-at';

/**
 * Stages the journal in slices, each with the given guards. Returns the number of staged steps, or the result of the slice that
 * was rejected.
 */
async function stage(
  { store, commit, slices, signal }: StagingOptions,
  { copy, run }: LongCopy,
  guards: CommitUnit['guards'],
): Promise<number | CommitResult> {
  const { fromRunKey, toRunKey, length = run.journalLength, without = [] } = copy;
  let [from, bytes, rows, stagedSteps] = [0, 0, 0, 0];
  async function stageUpTo(below: number): Promise<CommitResult> {
    const excluded = without.filter((index) => index >= from && index < below);
    const write: StoreWrite = { kind: 'stage-journal', fromRunKey, toRunKey, from, below, without: excluded, at: run.createdAt };
    stagedSteps += below - from - excluded.length;
    [from, bytes, rows] = [below, 0, 0];
    const unit: CommitUnit = { guards: [...guards, { kind: 'run-present', runKey: fromRunKey }], writes: [write] };
    const commitSlice = async (): Promise<CommitResult> => {
      signal?.throwIfAborted();
      // The audit entry of the request belongs to the unit that creates the run.
      return runOutsideRequest(() => commit(unit));
    };
    return slices.run(run.instanceId, commitSlice, { unhurried: true });
  }
  for await (const part of readSteps(store, { runKey: fromRunKey, bounds: PART_LIMITS, below: length, maxOutBytes: 0 })) {
    for (const { index, outLeftOut = 0 } of part) {
      bytes += outLeftOut + LIMITS.assumedRowBytes;
      rows++;
      if (bytes < PART_LIMITS.maxBytes && rows < PART_LIMITS.maxRows) continue;
      const result = await stageUpTo(index + 1);
      if (result.kind !== 'applied') return result;
    }
  }
  const result = rows > 0 ? await stageUpTo(from + rows) : null;
  return result && result.kind !== 'applied' ? result : stagedSteps;
}

/** Deletes the staged steps. No caller waits for it; after a crash they are deleted at the next start. */
async function abandon({ store, commit }: StagingOptions, copies: readonly LongCopy[]): Promise<void> {
  const writes = copies.map(
    ({ run: { key: runKey, instanceId } }): StoreWrite => ({ kind: 'abandon-journal', runKey, instanceId }),
  );
  await commit({ guards: [], writes });
  while (await store.removeStagedSteps()) await yieldToOthers();
}

/** Commits the unit after staging its long journals. */
export async function commitInSlices(options: StagingOptions, unit: CommitUnit): Promise<CommitResult> {
  const copies = longCopiesIn(unit);
  if (copies.length === 0) return options.commit(unit);
  const giveUp = (): void => {
    // Retention deletes whatever remains.
    if (!options.signal?.aborted) runOutsideRequest(() => abandon(options, copies)).catch(() => {});
  };
  const lastingGuards = unit.guards.filter(isLasting);
  try {
    const stepsByWrite = new Map<StoreWrite, number>();
    for (const longCopy of copies) {
      const stageResult = await stage(options, longCopy, lastingGuards);
      if (typeof stageResult !== 'number') {
        giveUp();
        return stageResult;
      }
      stepsByWrite.set(longCopy.copy, stageResult);
    }
    const writes = unit.writes.map((write): StoreWrite => {
      const steps = stepsByWrite.get(write);
      const longCopy = steps === undefined ? undefined : copies.find(({ copy }) => copy === write);
      if (steps === undefined || !longCopy) return write;
      return { kind: 'adopt-journal', runKey: longCopy.run.key, instanceId: longCopy.run.instanceId, steps };
    });
    const result = await options.commit({ guards: unit.guards, writes });
    if (result.kind !== 'applied') giveUp();
    return result;
  } catch (error) {
    giveUp();
    throw error;
  }
}
