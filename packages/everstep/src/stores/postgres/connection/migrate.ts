/** Migrates the database to the latest schema, even if several processes start at once. */
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Log } from '../../../ports/log.js';
import { StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { MIGRATIONS } from '../migrations/index.js';
import { longQuery } from './client-session.js';
import type { Database } from './connection.js';
import { locationOfUrl, StoreOpenError, sqlStateOf } from './errors.js';

/** First half of the lock key: "EVST". The second half is the schema, so that servers with other schemas do not wait. */
export const LOCK_CLASS = 0x45565354;
export const OLDEST_SERVER_VERSION = 150_000;
/**
 * Maximum wait of a migration for a lock on a table, ms. While it waits, all later statements of running nodes on that table wait
 * behind it.
 */
const TABLE_LOCK_MS = 2_000;
/**
 * Time between two attempts to lock a table, in which the statements of running nodes are executed, ms. It doubles with each attempt,
 * so that a transaction of hours delays these statements only rarely.
 */
const TABLE_LOCK_RETRY_MS = 3_000;
const MAX_TABLE_LOCK_RETRY_MS = 60_000;
/** A table was not available in time, or the migration and a running node each waited for a table that the other one used. */
const LOCK_CONFLICTS: readonly (string | null)[] = ['55P03', '40P01'];
const INVALID_CATALOG = '3D000';
const AUTHENTICATION_ERROR = /^28/;

export interface ServerProperties {
  /** Version of the server, such as 150018 for 15.18. */
  readonly version: number;
  readonly hasFsync: boolean;
}

export async function readServerProperties(client: pg.ClientBase): Promise<ServerProperties> {
  const { rows } = await client.query<{ version: string; fsync: string }>(
    `SELECT current_setting('server_version_num') AS version, current_setting('fsync') AS fsync`,
  );
  const [row] = rows;
  if (!row) throw new Error('the database did not return its version');
  return { version: Number(row.version), hasFsync: row.fsync === 'on' };
}

/** Returns the version of the schema; 0 if there is none. Creates the table that stores the version if it does not exist. */
async function readSchemaVersion(client: pg.ClientBase): Promise<number> {
  await client.query(
    'CREATE TABLE IF NOT EXISTS schema_version (only_one boolean PRIMARY KEY CHECK (only_one), version integer NOT NULL)',
  );
  const { rows } = await client.query<{ version: number }>('SELECT version FROM schema_version');
  return rows[0]?.version ?? 0;
}

/** The schema changes of all versions, how long they wait for a table that another transaction uses, and for the second attempt. */
export interface MigrationOptions {
  readonly migrations?: readonly string[];
  readonly tableLockMs?: number;
  readonly retryMs?: number;
}

/** Executes one migration. Returns false, and changes nothing, if a table was locked by another transaction for too long. */
async function tryMigration(client: pg.ClientBase, sql: string, version: number, tableLockMs: number): Promise<boolean> {
  await client.query(`BEGIN; SET LOCAL lock_timeout = ${tableLockMs}`);
  try {
    await client.query(longQuery(sql));
    await client.query(
      'INSERT INTO schema_version VALUES (true, $1) ON CONFLICT (only_one) DO UPDATE SET version = excluded.version',
      [version],
    );
    await client.query('COMMIT');
    return true;
  } catch (error) {
    await client.query('ROLLBACK');
    if (LOCK_CONFLICTS.includes(sqlStateOf(error))) return false;
    throw error;
  }
}

async function applyMigrations(client: pg.ClientBase, location: string, log: Log, options: MigrationOptions): Promise<void> {
  const { migrations = MIGRATIONS, tableLockMs = TABLE_LOCK_MS, retryMs = TABLE_LOCK_RETRY_MS } = options;
  const version = await readSchemaVersion(client);
  if (version > migrations.length) {
    throw new StoreOpenError(
      'newer-schema',
      `${location} was written by a newer version of Everstep (schema ${version}; this version supports ${migrations.length}). ` +
        'Start the newer version, or restore a backup made before the upgrade.',
    );
  }
  for (const [index, sql] of migrations.entries()) {
    if (index < version) continue;
    for (let attempt = 1; !(await tryMigration(client, sql, index + 1, tableLockMs)); attempt++) {
      if (attempt === 1) log.warn({ version: index + 1 }, 'schema migration waits for a transaction that uses a table, retrying');
      await pause(Math.min(retryMs * 2 ** (attempt - 1), MAX_TABLE_LOCK_RETRY_MS));
    }
  }
}

/**
 * Takes the lock that a process holds while it changes the schema, for as long as another process holds it. The lock ends with the
 * connection. From then on, the statements of the connection have no timeout on the server.
 */
export async function lockSchema(client: pg.ClientBase): Promise<void> {
  await client.query('SET statement_timeout = 0; SET lock_timeout = 0');
  await client.query(longQuery('SELECT pg_advisory_lock($1, hashtext(current_schema()))', [LOCK_CLASS]));
}

/** Migrates the database. Rejects with StoreOpenError if it cannot be used. */
export async function migrate(database: Database, url: string, options: MigrationOptions = {}): Promise<ServerProperties> {
  const location = locationOfUrl(url);
  try {
    return await database.withConnection(async (client) => {
      const serverFacts = await readServerProperties(client);
      if (serverFacts.version < OLDEST_SERVER_VERSION) {
        throw new StoreOpenError(
          'unsupported-server',
          `${location} runs PostgreSQL ${Math.floor(serverFacts.version / 10_000)}. Everstep requires version 15 or newer.`,
        );
      }
      // One of several starting processes migrates; the others wait for it, as long as it takes.
      await lockSchema(client);
      await applyMigrations(client, location, database.log, options);
      return serverFacts;
    });
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    const sqlState = sqlStateOf(error instanceof StoreUnavailableError ? error.cause : error);
    const reason = error instanceof Error ? error.message : String(error);
    if (sqlState === null) throw new StoreOpenError('unreachable', `${location} cannot be reached: ${reason}`, error);
    if (AUTHENTICATION_ERROR.test(sqlState) || sqlState === INVALID_CATALOG)
      throw new StoreOpenError('refused', `${location} refused the connection: ${reason}`, error);
    throw error;
  }
}
