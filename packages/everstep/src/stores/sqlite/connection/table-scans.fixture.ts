/** Checks statements: none may read a whole table, sort its result or use numbered parameters. */
import assert from 'node:assert/strict';
import { SUM_OF_GROUPS, TRIAGED_GROUPS } from '../storage/measure.js';
import type { Connection } from './connection.js';

/** Statements that may read a whole table, because it has few rows. */
const ALLOWED_SCANS = new Set([
  'SELECT * FROM queue_instance ORDER BY seq',
  'SELECT * FROM account_user ORDER BY seq',
  'SELECT name, value FROM secret ORDER BY name',
  'SELECT * FROM deleted_instance ORDER BY instance_id',
  // These tables have one row for each instance or group.
  'SELECT coalesce(sum(active_runs), 0) AS count FROM instance_totals',
  SUM_OF_GROUPS,
  TRIAGED_GROUPS,
  'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
]);

/** A scan that reads many rows. `json_each` is a list in the statement, and the other exceptions have few rows. */
const SCAN = /^SCAN (?!CONSTANT|\(|json_each |sqlite_sequence|due$|account_user USING (?:COVERING )?INDEX account_user_operator)/;
/** A statement that may sort its rows, because they are few: the repairs that are due. */
const SORTS_FEW_ROWS = /FROM repair\s+WHERE wake_at <= /;

/** Statements whose plans were checked, by any test of this process. */
const checkedStatements = new Set<string>();

/** Checks every statement that the connection has prepared. */
export function assertNoTableScans(connection: Connection): void {
  for (const sql of [...connection.statements]) {
    if (checkedStatements.has(sql) || !/^\s*(SELECT|UPDATE|DELETE|INSERT)/.test(sql) || ALLOWED_SCANS.has(sql)) continue;
    checkedStatements.add(sql);
    // Node 22 treats a numbered parameter as a named one and binds no value to it.
    assert.doesNotMatch(sql, /\?\d/, sql);
    for (const { detail } of connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()) {
      const isScan = SCAN.test(String(detail)) && !/ORDER BY seq DESC LIMIT 1/.test(sql);
      assert.ok(!isScan, `${sql}\n${detail}`);
      if (!SORTS_FEW_ROWS.test(sql)) assert.doesNotMatch(String(detail), /TEMP B-TREE/, sql);
    }
  }
}
