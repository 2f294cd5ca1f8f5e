/** Checks statements: none may read a whole table, sort its result or number its parameters. */
import assert from 'node:assert/strict';
import { SUM_OF_GROUPS, TRIAGED_GROUPS } from '../storage/measure.js';
import type { Connection } from './connection.js';

/** Statements that may read a whole table, because it has few rows. */
const WHOLE = new Set([
  'SELECT * FROM queue_instance ORDER BY seq',
  'SELECT * FROM account_user ORDER BY seq',
  'SELECT name, value FROM secret ORDER BY name',
  'SELECT * FROM deleted_instance ORDER BY instance_id',
  // One row for each instance, and for each group.
  'SELECT coalesce(sum(active_runs), 0) AS count FROM instance_totals',
  SUM_OF_GROUPS,
  TRIAGED_GROUPS,
  'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
]);

/** `json_each` is the list of a statement, that index contains only operators, and `sqlite_sequence` has two rows. */
const SCAN = /^SCAN (?!CONSTANT|\(|json_each |sqlite_sequence|account_user USING (?:COVERING )?INDEX account_user_operator)/;

/** Statements whose plans were checked, by any test of this process. */
const checked = new Set<string>();

/** Checks every statement that the connection has prepared. */
export function assertNoTableScans(connection: Connection): void {
  for (const sql of [...connection.statements]) {
    if (checked.has(sql) || !/^\s*(SELECT|UPDATE|DELETE|INSERT)/.test(sql) || WHOLE.has(sql)) continue;
    checked.add(sql);
    // Node 22 treats a numbered parameter as a named one and binds no value to it.
    assert.doesNotMatch(sql, /\?\d/, sql);
    for (const { detail } of connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()) {
      const isScan = SCAN.test(String(detail)) && !/ORDER BY seq DESC LIMIT 1/.test(sql);
      assert.ok(!isScan, `${sql}\n${detail}`);
      assert.doesNotMatch(String(detail), /TEMP B-TREE/, sql);
    }
  }
}
