/**
 * Uses a Citus cluster in tests. EVERSTEP_TEST_CITUS is the URL of its coordinator. If it is set, the tests that use PostgreSQL use
 * schemas with distributed tables; otherwise the tests that need a cluster are skipped.
 */
import pg from 'pg';
import { MIGRATIONS } from '../migrations/index.js';
import { distribute } from '../sharding/distribute.js';
import { TABLES_BY_INSTANCE, TABLES_BY_RUN, TABLES_ON_EVERY_SERVER, TABLES_ON_ONE_SERVER } from '../sharding/tables.js';

export const CITUS = 'EVERSTEP_TEST_CITUS';
/** Whether the schemas of the tests are on a cluster. */
export const IS_ON_CLUSTER = Boolean(process.env[CITUS]);
/** The reason for skipping the tests that need a cluster; empty if there is one. */
export const NO_CLUSTER = IS_ON_CLUSTER ? '' : `${CITUS} is not set to a Citus cluster`;
/** Number of shards. It is small, because each shard has all tables. */
const SHARDS = 4;
/** Tables that are cleared after a test, each before the tables that it refers to. */
const CLEARED_TABLES = [
  ...[...TABLES_BY_INSTANCE, ...TABLES_BY_RUN, ...TABLES_ON_ONE_SERVER.filter((table) => table !== 'schema_version')],
  ...[...TABLES_ON_EVERY_SERVER].reverse(),
];

export async function withClusterClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Creates and distributes the tables of the schema. */
export async function prepareCluster(client: pg.Client): Promise<void> {
  for (const sql of MIGRATIONS) await client.query(sql);
  await client.query('CREATE TABLE schema_version (only_one boolean PRIMARY KEY CHECK (only_one), version integer NOT NULL)');
  await client.query('INSERT INTO schema_version VALUES (true, $1)', [MIGRATIONS.length]);
  await distribute(client, { shards: SHARDS });
}

/** Empties the tables. Tables of search indexes stay, because their names contain numbers that are not used again. */
export async function clearCluster(client: pg.Client): Promise<void> {
  await client.query(
    `BEGIN; SET LOCAL citus.multi_shard_modify_mode = 'sequential'; SET LOCAL session_replication_role = replica`,
  );
  await client.query(CLEARED_TABLES.map((table) => `DELETE FROM ${table}`).join('; '));
  await client.query('COMMIT');
}
