/**
 * Commits batches of units. A batch is one transaction or, with commits `by-instance`, one transaction for each instance, so that
 * no transaction uses more than one shard.
 * Keeps invariants 5 and 29.
 */
import { instanceOf } from '../../../engine/writes/unit-facts.js';
import type { CommitResult, CommitUnit } from '../../../engine/writes.js';
import { PartialCommitError, type UnitOutcome } from '../../../ports/stores/commit-store.js';
import { ServerUnavailableError, StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { OldDays } from '../accounts/day-counts.js';
import { type Database, VersionConflictError } from '../connection/connection.js';
import { TableStatistics } from '../connection/table-statistics.js';
import type { FlowKeyId } from '../control/flow-control-records.js';
import { InsightFolds } from '../insights/insight-counts.js';
import { RunInstances } from '../runs/run-instances.js';
import type { WritingNode } from '../runs/task-writes.js';
import { Batch } from './batch.js';
import { BatchState, type LockedBatch } from './batch-state.js';
import { ClockMarks, raiseLatestTime } from './clock-marks.js';
import { LockSet } from './lock-set.js';
import { RunVersions } from './run-versions.js';

/** Unique constraints that two concurrent transactions can violate. The later transaction is repeated. */
const RETRYABLE_CONSTRAINTS = ['active_run_claim', 'deduplication_pkey', 'run_by_place', 'dead_letter_by_place'];
/** Maximum number of concurrent transactions of one batch. */
const MAX_CONCURRENT_PARTS = 4;

const IGNORE = (): void => {};

/** The node that commits, and the time according to its clock. */
export type CommittingNode = Omit<WritingNode, 'databaseNow'>;

/** Whether a transaction can contain units of several instances. */
export type Commits = 'together' | 'by-instance';

export interface BatchWriterOptions {
  readonly versions?: RunVersions;
  /** Called after each transaction with the flow control keys whose limits it has changed. */
  readonly onLimitsChanged?: (keys: readonly FlowKeyId[]) => void;
}

/** A part of a batch that is one transaction. */
interface Part extends LockedBatch {
  /** One of the instances that the part writes to; null if there is none. */
  readonly instanceId: string | null;
}

/** Writes batches. Several batches can be in progress, each on a separate connection. */
export class BatchWriter {
  private readonly database: Database;
  private readonly getNode: () => CommittingNode | null;
  private readonly commits: Commits;
  private readonly onLimitsChanged: (keys: readonly FlowKeyId[]) => void;
  private readonly clockMarks = new ClockMarks();
  private readonly statistics: TableStatistics;
  /** Finds the instances of runs. Reads use it as well. */
  readonly instances: RunInstances;
  private readonly versions: RunVersions;
  private readonly oldDays: OldDays;
  private readonly insights: InsightFolds;
  private readonly inProgress = new Set<Promise<void>>();

  /** `getNode` returns the committing node; null if no other process uses the store. */
  constructor(database: Database, getNode: () => CommittingNode | null, commits: Commits, options: BatchWriterOptions = {}) {
    const { versions = new RunVersions(), onLimitsChanged = IGNORE } = options;
    this.database = database;
    this.onLimitsChanged = onLimitsChanged;
    this.getNode = getNode;
    this.commits = commits;
    this.versions = versions;
    this.statistics = new TableStatistics(database);
    this.instances = new RunInstances(database);
    this.oldDays = new OldDays(database);
    this.insights = new InsightFolds(database);
  }

  /**
   * Commits the batch. Rejects if a write is faulty, or if it is unknown whether the batch is durable. With one transaction per
   * instance, rejects with PartialCommitError, because other parts of the batch can be durable.
   */
  async commit(units: readonly CommitUnit[]): Promise<readonly CommitResult[]> {
    if (units.length === 0) return [];
    const results = this.write(units);
    const batchEnded = results.then(IGNORE, IGNORE);
    this.inProgress.add(batchEnded);
    try {
      return await results;
    } finally {
      this.inProgress.delete(batchEnded);
    }
  }

  /** Resolves when all batches in progress are written or have failed. */
  async settled(): Promise<void> {
    await Promise.all(this.inProgress);
  }

  /** Resolves when neither a batch nor work that follows a batch is in progress. */
  async idle(): Promise<void> {
    await this.settled();
    await this.insights.settled();
  }

  private async write(units: readonly CommitUnit[]): Promise<readonly CommitResult[]> {
    const locks = new LockSet(units);
    const { instances, failure } = await this.instances.find(locks.runKeys);
    if (failure) return this.writeUnitsOfFoundRuns(units, instances, failure);
    const instanceOfRun = (runKey: string) => locks.createdRuns.get(runKey) ?? instances.get(runKey) ?? null;
    if (this.commits === 'by-instance') {
      const parts = new Map<string | null, number[]>();
      for (const [index, unit] of units.entries()) {
        const instanceId = instanceOf(unit, instanceOfRun);
        const indexes = parts.get(instanceId);
        if (indexes) indexes.push(index);
        else parts.set(instanceId, [index]);
      }
      if (parts.size > 1) return this.writeParts(units, instances, [...parts]);
    }
    let instanceId: string | null = null;
    for (const unit of units) {
      instanceId = instanceOf(unit, instanceOfRun);
      if (instanceId !== null) break;
    }
    return this.writePart({ units, locks, instances, instanceId });
  }

  /** Writes the units whose runs were all found. Runs of the other units may be on a server that is down. */
  private async writeUnitsOfFoundRuns(
    units: readonly CommitUnit[],
    instances: ReadonlyMap<string, string>,
    failure: ServerUnavailableError,
  ): Promise<readonly CommitResult[]> {
    const haveFoundRuns = units.map((unit) => [...new LockSet([unit]).runKeys].every((runKey) => instances.has(runKey)));
    const writableUnits = units.filter((_, index) => haveFoundRuns[index]);
    if (writableUnits.length === 0) throw failure;
    const outcomes: UnitOutcome[] = await this.write(writableUnits).then(
      (results) => [...results],
      (error: unknown) =>
        error instanceof PartialCommitError ? [...error.outcomes] : writableUnits.map(() => ({ kind: 'failed' as const, error })),
    );
    const failedOutcome = { kind: 'failed', error: failure } as const;
    throw new PartialCommitError(
      haveFoundRuns.map((isWritable) => (isWritable ? (outcomes.shift() ?? failedOutcome) : failedOutcome)),
      failure,
    );
  }

  /** Writes each part in its own transaction. Waits for all parts, even if one of them fails. */
  private async writeParts(
    units: readonly CommitUnit[],
    instances: ReadonlyMap<string, string>,
    parts: [instanceId: string | null, indexes: readonly number[]][],
  ): Promise<readonly CommitResult[]> {
    const outcomesByIndex = new Map<number, UnitOutcome>();
    const failures: unknown[] = [];
    const writeNextParts = async (): Promise<void> => {
      for (let part = parts.shift(); part; part = parts.shift()) {
        const [instanceId, indexes] = part;
        const partUnits = indexes.map((index) => itemAt(units, index));
        try {
          const partResults = await this.writePart({ units: partUnits, locks: new LockSet(partUnits), instances, instanceId });
          for (const [n, index] of indexes.entries()) outcomesByIndex.set(index, itemAt(partResults, n));
        } catch (error) {
          failures.push(error);
          for (const index of indexes) outcomesByIndex.set(index, { kind: 'failed', error });
        }
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT_PARTS }, writeNextParts));
    const outcomes = units.map((_, index) => {
      const outcome = outcomesByIndex.get(index);
      if (!outcome) throw new Error('a unit was not written');
      return outcome;
    });
    const commitResults = outcomes.filter((outcome) => outcome.kind !== 'failed');
    if (commitResults.length === outcomes.length) return commitResults;
    // The whole store is unavailable, so the outcome of every unit is unknown.
    if (commitResults.length === 0 && failures.every(isWholeStoreUnavailable)) throw failures[0];
    throw new PartialCommitError(outcomes, failures[0]);
  }

  private async writePart(part: Part): Promise<readonly CommitResult[]> {
    const { units, locks, instanceId } = part;
    const shard = this.clockMarks.take();
    const expectedRuns = this.versions.expectedRunsOf(units);
    let attempts = 0;
    try {
      const { results, batch, state } = await this.database.transaction(
        async (session) => {
          const node = this.getNode();
          // A repeated transaction reads the runs, because an expected version may have been wrong.
          const trustedRuns = attempts++ === 0 ? expectedRuns : null;
          const state = trustedRuns ? await BatchState.expect(session, part, trustedRuns) : await BatchState.read(session, part);
          const batch = new Batch(session, state, node && { ...node, databaseNow: state.databaseNow ?? node.now });
          const results = units.map((unit) => batch.apply(unit));
          // The run was already updated to the version of the rejected decision.
          if (trustedRuns && units.some((unit, index) => isDecision(unit) && results[index]?.kind !== 'applied'))
            throw new VersionConflictError('a decision was refused');
          batch.finish();
          raiseLatestTime(session, { instanceId, shard }, batch.latestTime);
          batch.sendAudit();
          return { results, batch, state };
        },
        { retryOn: RETRYABLE_CONSTRAINTS, genericPlans: true },
      );
      if (expectedRuns && attempts > 1) this.versions.recordConflict();
      this.versions.remember(state.allRuns);
      this.onLimitsChanged(await batch.changedLimits());
      for (const [runKey, instance] of locks.createdRuns) this.instances.remember(runKey, instance);
      const dayCounts = units.flatMap(({ writes }) => writes.filter((write) => write.kind === 'count-of-day'));
      if (dayCounts.length > 0) await this.oldDays.recordCounts(dayCounts);
      this.insights.recordCounts(countedInstances(units));
      this.statistics.recordWrites(units.reduce((sum, { writes }) => sum + writes.length, 0));
      return results;
    } finally {
      this.clockMarks.release(shard);
    }
  }
}

function countedInstances(units: readonly CommitUnit[]): ReadonlySet<string> {
  const instanceIds = new Set<string>();
  for (const { writes } of units)
    for (const write of writes) if (write.kind === 'count-insights') instanceIds.add(write.instanceId);
  return instanceIds;
}

const isWholeStoreUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnavailableError && !(error instanceof ServerUnavailableError);

const isDecision = ({ guards }: CommitUnit): boolean => guards.some(({ kind }) => kind === 'run-active');

function itemAt<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`there is no item ${index} among ${items.length}`);
  return item;
}
