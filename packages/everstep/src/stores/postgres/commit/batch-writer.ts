/**
 * Commits batches of units: one transaction each; or, where the tables are spread by instance, one for each instance in
 * it, so that none is on more than one shard.
 * Keeps invariants 5 and 29.
 */
import type { CommitResult, CommitUnit } from '../../../ports/stores/store.js';
import { OldDays } from '../accounts/day-counts.js';
import { type Database, MistakenError } from '../connection/connection.js';
import { TableStatistics } from '../connection/table-statistics.js';
import { RunInstances } from '../runs/run-instances.js';
import type { Writer } from '../runs/task-writes.js';
import { Assumptions } from './assumptions.js';
import { BatchNames } from './batch-names.js';
import { BatchState, type NamedBatch } from './batch-state.js';
import { ClockMarks, raiseLatestTime } from './clock-marks.js';
import { Batch } from './commit.js';
import { instanceOfUnit } from './unit-instances.js';

/** Two who want the same id, or the same place, at the same time: the second looks again. */
const RETRY_ON = ['active_run_claim', 'deduplication_pkey', 'run_by_place', 'dead_letter_by_place'];
/** Transactions of one batch that are under way at once. */
const MOST_APART = 4;

const NOTHING_MORE = (): void => {};

/** The node that commits: in whose name, and when it does by its own belief. */
export type CommittingNode = Omit<Writer, 'databaseNow'>;

/** Whether a transaction may have units of several instances. */
export type Commits = 'together' | 'by-instance';

/** A part of a batch that is one transaction. */
interface Part extends NamedBatch {
  /** An instance that it writes of. */
  readonly instanceId: string | null;
}

/** Several batches may be under way at once, each on a connection of its own. */
export class BatchWriter {
  private readonly database: Database;
  private readonly node: () => CommittingNode | null;
  private readonly commits: Commits;
  private readonly clockMarks = new ClockMarks();
  private readonly statistics: TableStatistics;
  private readonly instances: RunInstances;
  private readonly assumptions: Assumptions;
  private readonly oldDays: OldDays;
  private readonly underWay = new Set<Promise<void>>();

  /** `node` gives null: nobody else uses the store. */
  constructor(database: Database, node: () => CommittingNode | null, commits: Commits, assumptions = new Assumptions()) {
    this.database = database;
    this.node = node;
    this.commits = commits;
    this.assumptions = assumptions;
    this.statistics = new TableStatistics(database);
    this.instances = new RunInstances(database);
    this.oldDays = new OldDays(database);
  }

  /**
   * Rejects when a write is faulty, or the batch could not be made durable, or nobody knows whether it was: by instance, a
   * part of it may be.
   */
  async commit(units: readonly CommitUnit[]): Promise<readonly CommitResult[]> {
    if (units.length === 0) return [];
    const writing = this.write(units);
    const ended = writing.then(NOTHING_MORE, NOTHING_MORE);
    this.underWay.add(ended);
    try {
      return await writing;
    } finally {
      this.underWay.delete(ended);
    }
  }

  /** Resolves when everything that is being written now is written, or lost. */
  async settled(): Promise<void> {
    await Promise.all(this.underWay);
  }

  private async write(units: readonly CommitUnit[]): Promise<readonly CommitResult[]> {
    const named = new BatchNames(units);
    const instances = await this.instances.of(named.runKeys);
    const instanceOf = (unit: CommitUnit) =>
      instanceOfUnit(unit, (runKey) => named.begun.get(runKey) ?? instances.get(runKey) ?? null);
    if (this.commits === 'by-instance') {
      const apart = new Map<string | null, number[]>();
      for (const [index, unit] of units.entries()) {
        const instanceId = instanceOf(unit);
        const indexes = apart.get(instanceId);
        if (indexes) indexes.push(index);
        else apart.set(instanceId, [index]);
      }
      if (apart.size > 1) return this.writeApart(units, instances, [...apart]);
    }
    let instanceId: string | null = null;
    for (const unit of units) {
      instanceId = instanceOf(unit);
      if (instanceId !== null) break;
    }
    return this.writePart({ units, named, instances, instanceId });
  }

  /** Waits for all of them, also when one of them fails. */
  private async writeApart(
    units: readonly CommitUnit[],
    instances: ReadonlyMap<string, string>,
    apart: [instanceId: string | null, indexes: readonly number[]][],
  ): Promise<readonly CommitResult[]> {
    const results = new Map<number, CommitResult>();
    const failures: unknown[] = [];
    const write = async (): Promise<void> => {
      for (let next = apart.shift(); next; next = apart.shift()) {
        const [instanceId, indexes] = next;
        const part = indexes.map((index) => at(units, index));
        try {
          const written = await this.writePart({ units: part, named: new BatchNames(part), instances, instanceId });
          for (const [n, index] of indexes.entries()) results.set(index, at(written, n));
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: MOST_APART }, write));
    if (failures.length > 0) throw failures[0];
    return units.map((_, index) => {
      const result = results.get(index);
      if (!result) throw new Error('a unit was not written');
      return result;
    });
  }

  private async writePart(part: Part): Promise<readonly CommitResult[]> {
    const { units, named, instanceId } = part;
    const shard = this.clockMarks.take();
    const assumed = this.assumptions.of(units);
    let tries = 0;
    try {
      const { results, state } = await this.database.transaction(
        async (session) => {
          const node = this.node();
          // When it is done again something was not so.
          const runs = tries++ === 0 ? assumed : null;
          const state = runs ? await BatchState.assume(session, part, runs) : await BatchState.read(session, part);
          const batch = new Batch(session, state, node && { ...node, databaseNow: state.databaseNow ?? node.now });
          const results = units.map((unit) => batch.apply(unit));
          // Its run was brought to a version that it does not make.
          if (runs && units.some((unit, index) => isDecision(unit) && results[index]?.kind !== 'applied'))
            throw new MistakenError('a decision is refused');
          batch.finish();
          raiseLatestTime(session, { instanceId, shard }, batch.latestTime);
          batch.tell();
          return { results, state };
        },
        { retryOn: RETRY_ON, fixedPlans: true },
      );
      if (assumed && tries > 1) this.assumptions.mistaken();
      this.assumptions.learn(state.knownRuns);
      for (const [runKey, instance] of named.begun) this.instances.learn(runKey, instance);
      const counts = units.flatMap(({ writes }) => writes.filter((write) => write.kind === 'count-of-day'));
      if (counts.length > 0) await this.oldDays.counted(counts);
      this.statistics.noteWrites(units.reduce((sum, { writes }) => sum + writes.length, 0));
      return results;
    } finally {
      this.clockMarks.give(shard);
    }
  }
}

const isDecision = ({ guards }: CommitUnit): boolean => guards.some(({ kind }) => kind === 'run-active');

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`there is no item ${index} among ${items.length}`);
  return item;
}
