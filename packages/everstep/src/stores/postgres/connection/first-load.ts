/**
 * Fills an empty schema from another store. One transaction creates the tables, fills them and reads them back. Other connections
 * see either everything or nothing, even after a crash. The migration lock is held until the end, so that a server that starts on
 * the database waits. Keeps invariant 30.
 */
import pg from 'pg';
import { LIMITS } from '../../../config/limits.js';
import type { SearchDocument } from '../../../ports/stores/search-store.js';
import { MIGRATIONS } from '../migrations/index.js';
import { createNamespace } from '../search/collection.js';
import { writeDocuments } from '../search/index.js';
import { POSTGRESQL } from '../sharding/engine.js';
import { integer, type Row, text } from './columns.js';
import {
  runStatement,
  type SqlValue,
  type Statement,
  statement,
  type TransactionSession,
  unpreparedStatement,
} from './connection.js';
import { locationOfUrl, StoreOpenError, sqlStateOf } from './errors.js';
import { LOCK_CLASS, OLDEST_SERVER_VERSION, readServerProperties } from './migrate.js';
import { primaryUrl } from './primary.js';
import { type Columns, columnArrays, columnNames, type RowOf, unnest } from './row-sets.js';
import { TYPES } from './sql-values.js';
import { SYNCHRONOUS_COMMIT } from './synchronous-commit.js';
import { checkTls } from './tls.js';

export type { Columns, RowOf } from './row-sets.js';

const CONNECT_TIMEOUT_MS = 10_000;
const ROWS_READ_AT_ONCE = 500;

/** Selects an object in the schema that does not belong to an extension. */
const SELECT_FIRST_OBJECT = `
  SELECT c.relname AS name FROM pg_class c
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
  ORDER BY 1 LIMIT 1`;
/** Selects the identity columns. Their sequences must continue after the existing numbers. */
const SELECT_IDENTITY_COLUMNS = `
  SELECT c.relname AS name, a.attname AS column FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attidentity <> '' ORDER BY 1`;

/** Tables that contain numbers of an identity column. They can be higher than all remaining numbers of the column. */
const TABLES_WITH_NUMBERS: ReadonlyMap<string, readonly string[]> = new Map([['audit_log', ['audit_anchor', 'audit_push']]]);

/** Returns SQL for the highest number of the identity column that was ever used, as far as the tables show. */
const lastNumberSql = (table: string, column: string): string => {
  const numbers = [table, ...(TABLES_WITH_NUMBERS.get(table) ?? [])].map((name) => `(SELECT max("${column}") FROM ${name})`);
  return `SELECT coalesce(greatest(${numbers.join(', ')}), 0)::bigint AS last`;
};

const SELECT_TABLES = `SELECT quote_ident(relname) AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`;

/** A connection whose statements are all part of one transaction. */
class SingleTransaction implements TransactionSession {
  readonly engine = POSTGRESQL;
  private readonly client: pg.Client;
  private failure: Error | null = null;

  constructor(client: pg.Client) {
    this.client = client;
  }

  async query(command: Statement, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    if (this.failure) throw this.failure;
    return (await runStatement(this.client, POSTGRESQL, command, values)).rows;
  }

  async execute(command: Statement, values: readonly SqlValue[] = []): Promise<number> {
    if (this.failure) throw this.failure;
    return (await runStatement(this.client, POSTGRESQL, command, values)).rowCount ?? 0;
  }

  send(command: Statement, values: readonly SqlValue[] = []): void {
    runStatement(this.client, POSTGRESQL, command, values).catch((error: Error) => {
      this.failure ??= error;
    });
  }

  sendJoined(command: Statement, values: readonly SqlValue[]): void {
    this.send(command, values);
  }
}

/** A transaction that fills the empty schema. */
export interface FirstLoad {
  /** Inserts rows. Identity columns keep the given numbers. */
  insert<Set extends Columns>(table: string, columns: Set, rows: readonly RowOf<Set>[]): Promise<void>;
  /** Returns all rows of the table, in parts. */
  read(table: string, columns: Columns): AsyncIterable<readonly Row[]>;
  /** Creates a namespace, which can stay empty, and returns access to its documents. */
  namespace(indexId: string, name: string): Promise<LoadedNamespace>;
  /** Commits everything. Rejects if the connection is lost; it is then unknown whether the commit took effect. */
  commit(): Promise<void>;
  /** Closes the connection. Unless the load was committed, the schema stays empty. */
  close(): Promise<void>;
}

export interface LoadedNamespace {
  add(documents: readonly SearchDocument[]): Promise<void>;
  read(): AsyncIterable<readonly Row[]>;
}

/** Starts the load. Rejects with StoreOpenError if the database is unreachable, too old, being loaded, or not empty. */
async function beginLoad(client: pg.Client, location: string): Promise<void> {
  const { version } = await readServerProperties(client);
  if (version < OLDEST_SERVER_VERSION)
    throw new StoreOpenError(
      'unsupported-server',
      `${location} runs PostgreSQL ${Math.floor(version / 10_000)}. Everstep requires version 15 or newer.`,
    );
  const { rows: schemas } = await client.query<{ schema: string | null }>('SELECT current_schema() AS schema');
  if ((schemas[0]?.schema ?? null) === null)
    throw new StoreOpenError(
      'not-empty',
      `${location} has none of the schemas in the search path of the URL or the user. Create one first.`,
    );
  const { rows: locks } = await client.query<{ acquired: boolean }>(
    'SELECT pg_try_advisory_lock($1, hashtext(current_schema())) AS acquired',
    [LOCK_CLASS],
  );
  if (locks[0]?.acquired !== true)
    throw new StoreOpenError(
      'not-empty',
      `${location} is being set up by another process: a server that is starting, or another copy.`,
    );
  const { rows: objects } = await client.query<{ name: string }>(SELECT_FIRST_OBJECT);
  if (objects[0])
    throw new StoreOpenError(
      'not-empty',
      `${location} is not empty: its schema has ${objects[0].name}. ` +
        'A store can only be copied into an empty schema. Nothing was changed.',
    );
  await client.query('BEGIN');
  await client.query('CREATE TABLE schema_version (only_one boolean PRIMARY KEY CHECK (only_one), version integer NOT NULL)');
  for (const sql of MIGRATIONS) await client.query(sql);
  await client.query('INSERT INTO schema_version VALUES (true, $1)', [MIGRATIONS.length]);
}

export async function beginFirstLoad(url: string): Promise<FirstLoad> {
  const location = locationOfUrl(url);
  checkTls(url, location);
  const client = new pg.Client({
    connectionString: await primaryUrl(url),
    types: TYPES,
    pipeline: true,
    application_name: 'everstep copy-store',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // There is no timeout, because large tables and slow sources can take a long time.
    statement_timeout: 0,
    idle_in_transaction_session_timeout: 0,
    keepAlive: true,
  });
  // The next statement reports that the connection was lost.
  client.on('error', () => undefined);
  const close = () => client.end().catch(() => undefined);
  try {
    await client.connect();
    await client.query(SYNCHRONOUS_COMMIT);
    await beginLoad(client, location);
  } catch (error) {
    await close();
    if (error instanceof StoreOpenError) throw error;
    const sqlState = sqlStateOf(error);
    const reason = error instanceof Error ? error.message : String(error);
    if (sqlState === null) throw new StoreOpenError('unreachable', `${location} cannot be reached: ${reason}`, error);
    throw new StoreOpenError('refused', `${location} rejected the load: ${reason}`, error);
  }
  const session = new SingleTransaction(client);
  let cursorCount = 0;

  async function* fetchRows(select: string): AsyncGenerator<readonly Row[]> {
    const cursor = `rows_${++cursorCount}`;
    await client.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${select}`);
    for (;;) {
      const { rows } = await client.query<Row>(`FETCH ${ROWS_READ_AT_ONCE} FROM ${cursor}`);
      if (rows.length === 0) break;
      yield rows;
    }
    await client.query(`CLOSE ${cursor}`);
  }

  return {
    async insert(table, columns, rows) {
      if (rows.length === 0) return;
      await session.execute(
        statement(`INSERT INTO ${table} (${columnNames(columns)}) OVERRIDING SYSTEM VALUE SELECT * FROM ${unnest(columns)}`),
        columnArrays(columns, rows),
      );
    },
    read: (table, columns) => fetchRows(`SELECT ${columnNames(columns)} FROM ${table}`),
    async namespace(indexId, name) {
      const storedNamespace = await createNamespace(session, indexId, name, LIMITS.maxSearchNamespaces);
      if (typeof storedNamespace === 'string')
        throw new Error(`the namespace ${JSON.stringify(name)} of ${indexId} could not be created: ${storedNamespace}`);
      return {
        add: (documents) => writeDocuments(session, storedNamespace, documents),
        read: () =>
          fetchRows(`SELECT id, content, metadata FROM ${storedNamespace.table} WHERE namespace = ${storedNamespace.namespace}`),
      };
    },
    async commit() {
      for (const identityRow of await session.query(unpreparedStatement(SELECT_IDENTITY_COLUMNS))) {
        const [name, column] = [text(identityRow, 'name'), text(identityRow, 'column')];
        const [row] = await session.query(unpreparedStatement(lastNumberSql(name, column)));
        const lastNumber = row ? integer(row, 'last') : 0;
        if (lastNumber > 0)
          await session.query(unpreparedStatement(`SELECT setval(pg_get_serial_sequence('${name}', '${column}'), $1)`), [
            lastNumber,
          ]);
      }
      // The server has no statistics of new tables, and plans without statistics scan whole tables.
      const tables = await session.query(unpreparedStatement(SELECT_TABLES));
      await client.query(`ANALYZE ${tables.map((row) => text(row, 'name')).join(', ')}`);
      await session.query(unpreparedStatement('SELECT 1'));
      const { command } = await client.query('COMMIT');
      if (command !== 'COMMIT') throw new Error(`the database responded to COMMIT with ${command}`);
    },
    close,
  };
}
