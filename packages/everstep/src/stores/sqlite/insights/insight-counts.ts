/** Writes the counters of a transaction, one row for each instance, and later adds them to those of their minute and hour. */
import type { StatementSync } from 'node:sqlite';
import type { InsightCounts } from '../../../engine/insights/counts.js';
import { FoldTurns, InsightSums } from '../../shared/insights/deltas.js';
import { foldInsights } from '../../shared/insights/fold.js';
import type { Connection } from '../connection/connection.js';
import type { SqlRunner } from '../connection/sql-runner.js';
import type { Tenants } from '../listing/tenants.js';

export class InsightCountsWriter {
  private readonly sql: SqlRunner;
  private readonly tenants: Tenants;
  private readonly insert: StatementSync;
  private readonly turns = new FoldTurns();
  private sums = new InsightSums();

  constructor(connection: Connection, sql: SqlRunner, tenants: Tenants) {
    this.sql = sql;
    this.tenants = tenants;
    this.insert = connection.prepare(
      `INSERT INTO insight_delta (tenant, seq, counts)
       VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM insight_delta WHERE tenant = ?), ?)`,
    );
  }

  /** Adds counts, which are written at the end of the transaction. Requires an open transaction. */
  add(write: InsightCounts): void {
    this.sums.add(write);
  }

  /** Writes the counts. Must be called at the end of the transaction, inside it. */
  flush(): void {
    const deltas = this.sums.take();
    if (deltas.length === 0) return;
    for (const { instanceId, counts } of deltas) {
      const tenant = this.tenants.findOrCreate(instanceId);
      this.insert.run(tenant, tenant, counts);
    }
    for (const instanceId of this.turns.dueAfter(deltas)) this.sql.run(foldInsights(instanceId));
  }

  /** Discards counts that a rollback has undone. */
  forget(): void {
    this.sums = new InsightSums();
  }
}
