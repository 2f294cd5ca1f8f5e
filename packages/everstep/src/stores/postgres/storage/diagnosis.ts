/** Reads properties of a database for a diagnosis. Changes nothing. */
import type { Log } from '../../../ports/log.js';
import { integer, text } from '../connection/columns.js';
import { Database, unpreparedStatement } from '../connection/connection.js';
import { MIGRATIONS } from '../migrations/index.js';

const TIMEOUT_MS = 5_000;

const SELECT_PROPERTIES = unpreparedStatement(`
  SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
    (to_regclass('schema_version') IS NOT NULL)::int AS has_schema`);
const SELECT_SCHEMA = unpreparedStatement('SELECT version AS schema FROM schema_version');

export interface DatabaseExamination {
  /** Version of PostgreSQL. */
  readonly version: string;
  readonly hasFsync: boolean;
  /** Clock of the database in Unix ms, read within `roundTripMs`. */
  readonly now: number;
  readonly roundTripMs: number;
  /** Version of the schema; 0 if there is none. */
  readonly schema: number;
  /** Schema version that this program uses. */
  readonly currentSchema: number;
}

/** Examines the database. Rejects if it cannot be reached. */
export async function examineDatabase(url: string, log: Log): Promise<DatabaseExamination> {
  const database = new Database({ url, log, maxConnections: 1, timeoutMs: TIMEOUT_MS });
  try {
    // The first statement also opens the connection.
    await database.query(SELECT_PROPERTIES);
    const startedAt = performance.now();
    const [properties] = await database.query(SELECT_PROPERTIES);
    const roundTripMs = performance.now() - startedAt;
    if (!properties) throw new Error('the database returned no row');
    const [schemaRow] = integer(properties, 'has_schema') === 1 ? await database.query(SELECT_SCHEMA) : [];
    return {
      version: text(properties, 'version'),
      hasFsync: text(properties, 'fsync') === 'on',
      now: integer(properties, 'now'),
      roundTripMs,
      schema: schemaRow ? integer(schemaRow, 'schema') : 0,
      currentSchema: MIGRATIONS.length,
    };
  } finally {
    await database.close();
  }
}
