/** Removes runs and all their rows. Requires an open transaction. */
import type { StatementSync } from 'node:sqlite';
import type { RunSettings } from '../../../engine/runs/run.js';
import { STATUSES } from '../../records/run-rows.js';
import { integer, json, text, word } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import { TABLES_OF_RUN } from '../instance-removal/tables.js';
import { runFacetsOf } from '../listing/facets/run-facets.js';
import { RUN_BYTES } from '../storage/stored-bytes.js';

export class RunRemover {
  private readonly parts: StoreParts;
  private readonly selectIndexedColumns: StatementSync;
  private readonly deleteRelatedRows: readonly StatementSync[];
  private readonly deleteDeduplication: StatementSync;
  private readonly deleteRun: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.selectIndexedColumns = connection.prepare(
      `SELECT key, status, workflow_url, caller_ip, workflow_run_id, settings, ${RUN_BYTES} AS bytes FROM run r WHERE seq = ?`,
    );
    this.deleteRelatedRows = TABLES_OF_RUN.map((table) => connection.prepare(`DELETE FROM ${table} WHERE run_seq = ?`));
    this.deleteDeduplication = connection.prepare('DELETE FROM deduplication WHERE run_key = ?');
    this.deleteRun = connection.prepare('DELETE FROM run WHERE seq = ?');
  }

  /**
   * Removes the run and returns the number of removed rows. The run must have no dead letter, and must have ended unless
   * `allowedRuns` includes active runs.
   */
  remove(tenant: number, seq: number, allowedRuns: 'ended' | 'active-too' = 'ended'): number {
    const { runs, facets, endedBlocks, storedBytes } = this.parts;
    const row = this.selectIndexedColumns.get(seq);
    if (!row) throw new Error(`there is no run in row ${seq}`);
    const key = text(row, 'key');
    const status = word(row, 'status', STATUSES);
    if (status === 'active' && allowedRuns === 'ended') throw new Error(`the run ${key} has not ended`);
    const indexedRun = {
      status,
      workflowUrl: text(row, 'workflow_url'),
      callerIp: text(row, 'caller_ip'),
      workflowRunId: text(row, 'workflow_run_id'),
      settings: json<RunSettings>(row, 'settings'),
    };
    for (const value of runFacetsOf(indexedRun)) facets.remove(tenant, value, seq);
    storedBytes.add(tenant, -integer(row, 'bytes'));
    let rows = 1;
    for (const statement of this.deleteRelatedRows) rows += Number(statement.run(seq).changes);
    this.deleteDeduplication.run(key);
    this.deleteRun.run(seq);
    runs.drop(key);
    if (status !== 'active') endedBlocks.recordChange(tenant, status, seq);
    return rows;
  }
}
