import assert from 'node:assert/strict';
import { test } from 'node:test';
import { text } from '../connection/columns.js';
import { openConnection } from '../connection/connection.js';
import * as lists from './tables.js';

test('every table with rows of a queue instance is in one list, as removed or kept', () => {
  const connection = openConnection(':memory:');
  const tables = connection
    .prepare(
      `SELECT DISTINCT t.name AS name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
       WHERE t.type = 'table' AND c.name IN ('instance_id', 'tenant', 'run_seq', 'repair_seq') ORDER BY 1`,
    )
    .all()
    .map((row) => text(row, 'name'));
  connection.close();
  const listed = Object.values(lists).flatMap((list) => [...list]);
  assert.deepEqual([...listed].sort(), tables);
});
