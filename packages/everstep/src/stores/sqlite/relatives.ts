/** Runs that came of other runs. */
import type { StatementSync } from 'node:sqlite';
import type { RunRecord } from '../../ports/store.js';
import { RUN_RECORD_COLUMNS, RUN_RECORD_TABLES, runRecordOf } from './rows.js';
import type { StoreParts } from './store-parts.js';

export class Relatives {
  private readonly parts: StoreParts;
  private readonly selectDescendants: StatementSync;

  constructor(parts: StoreParts) {
    this.parts = parts;
    // Each of the three is found by an index.
    this.selectDescendants = parts.connection.prepare(
      `SELECT ${RUN_RECORD_COLUMNS} FROM ${RUN_RECORD_TABLES} WHERE r.seq IN (
         SELECT seq FROM (SELECT seq FROM run WHERE invoked_by_run_key = ? ORDER BY seq LIMIT ?)
         UNION SELECT seq FROM (SELECT seq FROM run WHERE forked_from_run_key = ? ORDER BY seq LIMIT ?)
         UNION SELECT n.seq FROM run o JOIN run n ON n.key = o.became_run_key WHERE o.key = ?
       ) ORDER BY r.seq LIMIT ?`,
    );
  }

  /** By creation. */
  descendantsOf(runKey: string, limit: number): readonly RunRecord[] {
    if (this.parts.runs.find(runKey) === null) return [];
    return this.selectDescendants.all(runKey, limit, runKey, limit, runKey, limit).map(runRecordOf);
  }
}
