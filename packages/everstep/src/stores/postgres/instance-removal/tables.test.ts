import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MIGRATIONS } from '../migrations/index.js';
import * as lists from './tables.js';

/** Tables by their columns in the migrations. */
function tablesOfInstances(): readonly string[] {
  const tables = new Set<string>();
  for (const sql of MIGRATIONS) {
    for (const [, table = '', columns = ''] of sql.matchAll(/CREATE TABLE (\w+) \(([\s\S]*?)\n\)/g))
      if (/\binstance_id\b/.test(columns)) tables.add(table);
    for (const [, table = ''] of sql.matchAll(/ALTER TABLE (\w+) ADD COLUMN[^;]*\binstance_id\b/g)) tables.add(table);
    for (const [, table = ''] of sql.matchAll(/DROP TABLE (\w+)/g)) tables.delete(table);
  }
  return [...tables].sort();
}

test('every table with rows of a queue instance is in one list, as removed or kept', () => {
  const listed = Object.values(lists).flatMap((list) => [...list]);
  assert.deepEqual([...listed].sort(), tablesOfInstances());
});
