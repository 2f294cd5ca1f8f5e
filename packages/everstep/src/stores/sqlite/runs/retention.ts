/**
 * Finds the runs that retention removes, and removes them.
 *
 * The search reads the blocks that the facet index lists for the state, in the order of creation. A run that ended before a
 * time was also created before that time, so the search stops there. It yields to other work between blocks. The runs found in a
 * block are removed in the same turn of the event loop, so they cannot have changed in between.
 */
import type { StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CALLBACK_SLOT, type RetentionState } from '../../../engine/runs/run.js';
import type { RemovalQuery } from '../../../ports/stores/store.js';
import { integer, integerOrNull } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { Transaction } from '../connection/transaction.js';
import type { DeadLetterWriter } from '../dead-letters/dead-letter-writer.js';
import type { CreationOrder } from '../listing/creation-order.js';
import { ALL_STATES } from '../listing/dead-letter-listing.js';
import type { BlockFacts } from '../listing/ended-blocks.js';
import { BLOCK_SIZE, blockOf } from '../listing/facets/block-set.js';
import { FACET, type Facet, stateValues } from '../listing/facets/facets.js';
import type { Direction } from '../listing/facets/members.js';
import { RunRemover } from './run-remover.js';

/** Number of blocks read before the search yields, which takes a few ms. */
const BLOCKS_PER_TURN = 2;
/** Rows after which a transaction removes no further run, so that it takes only a few ms. */
const ROWS_PER_REMOVAL = 1000;

/** SQL: a task that waits for the run `r`. A parked task counts while its run can be resumed. */
const NEEDED_BY_TASK = `SELECT 1 FROM task t JOIN run w ON w.seq = t.run_seq
  WHERE t.child_run_key = r.key AND (w.status = 'active' OR w.dead_letter_seq IS NOT NULL)`;

/**
 * SQL: a run that needs the source `r` that it was created from. An active run does, and a failed run that can be resumed or was
 * resumed, because calls to the webhooks of `r` continue with the run that resumed it last.
 */
const NEEDED_BY_SUCCESSOR = `SELECT 1 FROM run b WHERE b.key = r.became_run_key AND (b.status = 'active'
  OR (r.became_kind = 'resume' AND (b.dead_letter_seq IS NOT NULL OR b.became_kind = 'resume')))`;

/** The rows of one state: runs or dead letters. */
interface RemovableRows {
  readonly state: RetentionState;
  readonly instanceId: string;
  readonly tenant: number;
  readonly statements: RowStatements;
  /** Parameters of the statements for the state, after the range of rows. */
  readonly stateParameters: readonly (number | string)[];
  readonly order: CreationOrder;
  readonly facet: Facet;
  readonly values: readonly string[];
}

interface RowStatements {
  readonly selectFacts: StatementSync;
  /** Selects the row that has a given number of newer rows in the range. */
  readonly selectBoundary: StatementSync;
  /** Selects rows to remove: those that ended before a time, or up to a row. */
  readonly selectRemovable: StatementSync;
}

/** Rows to remove: those that ended before a time (Unix ms), and those up to a row number. */
interface Bounds {
  readonly endedBefore: number;
  readonly upToSeq: number;
}

/** Numbers of runs, and of rows of any kind, that a call can still remove. */
interface Quota {
  runs: number;
  rows: number;
}

const hasQuota = ({ runs, rows }: Quota): boolean => runs > 0 && rows > 0;

/** Counts the blocks that can be read before the search yields. */
class Turns {
  private remainingBlocks = BLOCKS_PER_TURN;

  /** Yields to other work if this was the last block of the turn. */
  async recordBlock(): Promise<void> {
    this.remainingBlocks--;
    if (this.remainingBlocks > 0) return;
    this.remainingBlocks = BLOCKS_PER_TURN;
    await nextTurn();
  }
}

export class Retention {
  private readonly parts: StoreParts;
  private readonly transaction: Transaction;
  private readonly deadLetters: DeadLetterWriter;
  private readonly runs: RunRemover;
  private readonly runStatements: RowStatements;
  private readonly entryStatements: RowStatements;
  /** The block from which the last call removed runs; null if it removed none. */
  private lastRemoval: { readonly tenant: number; readonly state: RetentionState; readonly block: number } | null = null;

  constructor(parts: StoreParts, transaction: Transaction, deadLetters: DeadLetterWriter) {
    const { connection } = parts;
    this.parts = parts;
    this.transaction = transaction;
    this.deadLetters = deadLetters;
    this.runs = new RunRemover(parts);
    const fromRuns = 'FROM run r WHERE r.seq BETWEEN ? AND ? AND r.tenant = ? AND r.status = ? AND r.dead_letter_seq IS NULL';
    this.runStatements = {
      selectFacts: connection.prepare(`SELECT count(*) AS row_count, min(r.completed_at) AS first_ended_at ${fromRuns}`),
      selectBoundary: connection.prepare(`SELECT r.seq ${fromRuns} ORDER BY r.seq DESC LIMIT 1 OFFSET ?`),
      selectRemovable: connection.prepare(
        `SELECT r.seq ${fromRuns} AND (r.completed_at < ? OR r.seq <= ?)
         AND NOT EXISTS (${NEEDED_BY_SUCCESSOR})
         AND NOT EXISTS (${NEEDED_BY_TASK}) ORDER BY r.seq LIMIT ?`,
      ),
    };
    const entryCondition = 'd.seq BETWEEN ? AND ? AND d.tenant = ?';
    this.entryStatements = {
      selectFacts: connection.prepare(
        `SELECT count(*) AS row_count, min(d.created_at) AS first_ended_at FROM dead_letter d WHERE ${entryCondition}`,
      ),
      selectBoundary: connection.prepare(
        `SELECT d.seq FROM dead_letter d WHERE ${entryCondition} ORDER BY d.seq DESC LIMIT 1 OFFSET ?`,
      ),
      selectRemovable: connection.prepare(
        `SELECT d.seq FROM dead_letter d JOIN run r ON r.seq = d.run_seq
         WHERE ${entryCondition} AND (d.created_at < ? OR d.seq <= ?)
         AND NOT EXISTS (SELECT 1 FROM task c WHERE c.run_seq = d.run_seq AND c.slot = ${CALLBACK_SLOT})
         AND NOT EXISTS (${NEEDED_BY_TASK}) ORDER BY d.seq LIMIT ?`,
      ),
    };
  }

  /** Removes runs, oldest first, in one short transaction for each block; returns their number. */
  async remove(query: RemovalQuery): Promise<number> {
    const { instanceId, state, endedBefore, keepNewest, limit } = query;
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new RangeError(`limit must be a whole number of 1 or more, not ${limit}`);
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null || (endedBefore === null && keepNewest === null)) return 0;
    const rows = this.rowsOf(instanceId, tenant, state);
    const turns = new Turns();
    const upToSeq = keepNewest === null ? 0 : await this.findBoundary(rows, keepNewest, turns);
    const bounds = { endedBefore: endedBefore ?? 0, upToSeq };
    const quota = { runs: limit, rows: ROWS_PER_REMOVAL };
    // Each removal discards the cached counts of its block, so the next call continues in that block without counting its rows.
    const { lastRemoval: last } = this;
    if (last?.tenant === tenant && last.state === state) this.removeFrom(rows, bounds, last.block, quota);
    if (hasQuota(quota)) await this.removeInOrder(rows, bounds, quota, turns);
    const removedRuns = limit - quota.runs;
    if (removedRuns > 0) await this.parts.connection.waitUntilDurable();
    return removedRuns;
  }

  private async removeInOrder(rows: RemovableRows, bounds: Bounds, quota: Quota, turns: Turns): Promise<void> {
    const createdTo = rows.order.range(0, bounds.endedBefore - 1).to;
    for (const block of this.blocks(rows, 'up', Math.max(createdTo, bounds.upToSeq))) {
      const facts = await this.factsOf(rows, block, turns);
      if (facts.rows === 0 || (facts.firstEndedAt >= bounds.endedBefore && rangeOf(block)[0] > bounds.upToSeq)) continue;
      this.removeFrom(rows, bounds, block, quota);
      if (!hasQuota(quota)) return;
      await turns.recordBlock();
    }
  }

  /** Removes rows from one block, as far as the quota allows. */
  private removeFrom(rows: RemovableRows, { endedBefore, upToSeq }: Bounds, block: number, quota: Quota): void {
    const { tenant, state, instanceId, statements, stateParameters } = rows;
    const foundRows = statements.selectRemovable.all(...rangeOf(block), ...stateParameters, endedBefore, upToSeq, quota.runs);
    this.lastRemoval = foundRows.length > 0 ? { tenant, state, block } : null;
    if (foundRows.length === 0) return;
    const removedCounts = this.transaction.run(() => {
      let [runs, deletedRows] = [0, 0];
      for (const row of foundRows) {
        const seq = integer(row, 'seq');
        const runSeq = state === 'deadLetter' ? this.deadLetters.remove(instanceId, tenant, seq) : seq;
        deletedRows += this.runs.remove(tenant, runSeq);
        runs++;
        if (deletedRows >= quota.rows) break;
      }
      return { runs, deletedRows };
    });
    quota.runs -= removedCounts.runs;
    quota.rows -= removedCounts.deletedRows;
  }

  /** Returns the newest row that has `keepNewest` newer rows; 0 if there is none. */
  private async findBoundary(rows: RemovableRows, keepNewest: number, turns: Turns): Promise<number> {
    let newerRows = 0;
    for (const block of this.blocks(rows, 'down', rows.order.lastSeq())) {
      const facts = await this.factsOf(rows, block, turns);
      if (newerRows + facts.rows <= keepNewest) {
        newerRows += facts.rows;
        continue;
      }
      const row = rows.statements.selectBoundary.get(...rangeOf(block), ...rows.stateParameters, keepNewest - newerRows);
      return row ? integer(row, 'seq') : 0;
    }
    return 0;
  }

  private async factsOf(
    { tenant, state, statements, stateParameters }: RemovableRows,
    block: number,
    turns: Turns,
  ): Promise<BlockFacts> {
    const { endedBlocks } = this.parts;
    const cached = endedBlocks.find(tenant, state, block);
    if (cached) return cached;
    const row = statements.selectFacts.get(...rangeOf(block), ...stateParameters) ?? {};
    const facts = {
      rows: integer(row, 'row_count'),
      firstEndedAt: integerOrNull(row, 'first_ended_at') ?? Number.POSITIVE_INFINITY,
    };
    endedBlocks.remember(tenant, state, block, facts);
    await turns.recordBlock();
    return facts;
  }

  /** Returns the blocks that may have such rows, up to the block of `lastSeq`. */
  private *blocks({ tenant, facet, values }: RemovableRows, direction: Direction, lastSeq: number): Generator<number> {
    const members = this.parts.facetReader.anyOf(tenant, facet, values, direction);
    const isUp = direction === 'up';
    let block = members.seek(isUp ? 0 : blockOf(lastSeq));
    while (block !== null && block <= blockOf(lastSeq)) {
      yield block;
      if (!isUp && block === 0) return;
      block = members.seek(isUp ? block + 1 : block - 1);
    }
  }

  private rowsOf(instanceId: string, tenant: number, state: RetentionState): RemovableRows {
    const { runOrder, deadLetterOrder } = this.parts;
    if (state === 'deadLetter') {
      const source = { order: deadLetterOrder, facet: FACET.deadLetterState, values: ALL_STATES };
      return { state, instanceId, tenant, statements: this.entryStatements, stateParameters: [tenant], ...source };
    }
    const source = { order: runOrder, facet: FACET.runStatus, values: stateValues(undefined, [state]) };
    return { state, instanceId, tenant, statements: this.runStatements, stateParameters: [tenant, state], ...source };
  }
}

const rangeOf = (block: number): readonly [from: number, to: number] => [block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE - 1];
