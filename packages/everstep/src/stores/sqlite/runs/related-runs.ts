/** Finds runs that were created from other runs. */
import type { StatementSync } from 'node:sqlite';
import type { RunRecord } from '../../../ports/stores/store.js';
import { integer } from '../../records/columns.js';
import { runRecordOf } from '../../records/run-rows.js';
import type { StoreParts } from '../connection/store-parts.js';
import { RUN_RECORD_COLUMNS, RUN_RECORD_TABLES } from './run-records.js';

export class RelatedRuns {
  private readonly parts: StoreParts;
  /** Each statement finds its runs by an index, in the order of their creation. */
  private readonly statements: readonly StatementSync[];

  constructor(parts: StoreParts) {
    this.parts = parts;
    const select = (where: string) =>
      parts.connection.prepare(`SELECT ${RUN_RECORD_COLUMNS} FROM ${RUN_RECORD_TABLES} WHERE ${where} ORDER BY r.seq LIMIT ?`);
    this.statements = [
      select('r.invoked_by_run_key = ?'),
      select('r.forked_from_run_key = ?'),
      // At most one run.
      select('r.key = (SELECT became_run_key FROM run WHERE key = ?)'),
    ];
  }

  /** Returns the runs created from this one, in the order of their creation. */
  descendantsOf(runKey: string, limit: number): readonly RunRecord[] {
    if (this.parts.runs.find(runKey) === null) return [];
    const rows = this.statements.flatMap((select) => select.all(runKey, limit));
    // A run has one origin, so no run is found twice.
    return rows
      .sort((a, b) => integer(a, 'seq') - integer(b, 'seq'))
      .slice(0, limit)
      .map(runRecordOf);
  }
}
