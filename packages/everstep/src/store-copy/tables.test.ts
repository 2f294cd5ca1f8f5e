import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import pg from 'pg';
import { openPostgresStore } from '../stores/postgres/index.js';
import { openTestSchemas } from '../stores/postgres/testing/schemas.js';
import { migrate } from '../stores/sqlite/connection/connection.js';
import { COPIED_TABLES, FILLED_SEPARATELY } from './tables.js';

const schemas = await openTestSchemas();

/** Columns with default values, which are not copied. */
const RESET_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  active_run: ['version'],
  run: ['url_host', 'url_path'],
  task: ['lent_by'],
};
/** Tables of the embedded store that PostgreSQL does not need: instance numbers, and internal indexes and counters. */
const NOT_COPIED = ['counter', 'tenant', 'facet', 'sqlite_sequence'];

test('every table and column of PostgreSQL is either copied or filled in another way', {
  skip: typeof schemas === 'string' ? schemas : false,
}, async () => {
  if (typeof schemas === 'string') return;
  const { url } = await schemas.make();
  await (await openPostgresStore({ url, log: { debug() {}, info() {}, warn() {}, error() {} } })).close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ table_name: string; column_name: string }>(
    'SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()',
  );
  await client.end();
  const copied = new Map(
    COPIED_TABLES.map(({ table, columns }) => [table, [...Object.keys(columns), ...(RESET_COLUMNS[table] ?? [])]]),
  );
  const missing = rows.filter(
    ({ table_name, column_name }) => !FILLED_SEPARATELY.includes(table_name) && !copied.get(table_name)?.includes(column_name),
  );
  assert.deepEqual(missing, []);
});

test('every table of the embedded store is copied', () => {
  const database = new DatabaseSync(':memory:');
  migrate(database, ':memory:');
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  database.close();
  const copied = new Set(COPIED_TABLES.map(({ completeTable }) => completeTable));
  assert.deepEqual(
    tables.map(({ name }) => String(name)).filter((name) => !NOT_COPIED.includes(name) && !copied.has(name)),
    [],
  );
});
