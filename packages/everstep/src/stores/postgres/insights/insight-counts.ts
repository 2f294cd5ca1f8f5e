/**
 * Writes the counters of a batch, one new row for each instance, so that no commit waits for the counters of another. The node
 * adds the rows to the counters of their minute and hour after some commits, in a separate transaction.
 */
import type { InsightCounts } from '../../../engine/insights/counts.js';
import { FoldTurns, InsightSums } from '../../shared/insights/deltas.js';
import { foldInsights } from '../../shared/insights/fold.js';
import { type Database, type TransactionSession, tableWrite } from '../connection/connection.js';
import { SqlSession } from '../connection/sql-session.js';

const ADD = tableWrite(
  'insight_delta',
  `INSERT INTO insight_delta (instance_id, counts)
  SELECT w.instance_id, w.counts FROM unnest($1::text[], $2::text[]) AS w (instance_id, counts)`,
);

/** Sends the counters of a batch without waiting. */
export function countInsights(session: TransactionSession, writes: readonly InsightCounts[]): void {
  const sums = new InsightSums();
  for (const write of writes) sums.add(write);
  const deltas = sums.take();
  session.sendJoined(ADD, [deltas.map(({ instanceId }) => instanceId), deltas.map(({ counts }) => counts)]);
}

/** Adds the rows of commits to the counters. */
export class InsightFolds {
  private readonly sqlStore: SqlSession;
  private readonly turns = new FoldTurns();
  private readonly pendingFolds = new Map<string, Promise<void>>();

  constructor(database: Database) {
    this.sqlStore = new SqlSession(database);
  }

  /** Must be called after a commit with counters of these instances. Does not wait. */
  recordCounts(instanceIds: Iterable<string>): void {
    const dueInstanceIds = this.turns.dueAfter([...instanceIds].map((instanceId) => ({ instanceId, counts: '' })));
    for (const instanceId of dueInstanceIds) {
      if (this.pendingFolds.has(instanceId)) continue;
      const fold = this.sqlStore
        .write(() => foldInsights(instanceId), { durable: false })
        .then(
          () => {},
          // The rows stay, are part of every read, and are added later.
          () => {},
        );
      this.pendingFolds.set(
        instanceId,
        fold.finally(() => this.pendingFolds.delete(instanceId)),
      );
    }
  }

  /** Resolves when no rows are being added. */
  async settled(): Promise<void> {
    await Promise.all(this.pendingFolds.values());
  }
}
