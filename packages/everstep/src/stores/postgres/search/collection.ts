/** Finds, locks and creates the table of an index and its namespaces, which are stored by their numbers. */
import { flag, integer, text } from '../connection/columns.js';
import { type Session, statement, type TransactionSession, unpreparedStatement } from '../connection/connection.js';
import { sqlStateOf } from '../connection/errors.js';

const UNDEFINED_TABLE = '42P01';
const MAX_ATTEMPTS = 5;

const FIND_NAMESPACE = statement(`
  SELECT c.number AS collection, n.number, n.documents FROM search_namespace n JOIN search_collection c USING (index_id)
  WHERE n.index_id = $1 AND n.name = $2 AND NOT n.gone AND NOT c.dropped`);
const FIND_TABLE = statement('SELECT number FROM search_collection WHERE index_id = $1 AND NOT dropped');
const SELECT_NAMESPACES = statement(
  'SELECT name, documents FROM search_namespace WHERE index_id = $1 AND NOT gone ORDER BY name',
);
const LOCK_NAMESPACE = statement(`
  SELECT number, documents FROM search_namespace WHERE index_id = $1 AND name = $2 AND NOT gone FOR UPDATE`);
/** Share-locks the collection unless the namespace must still be created: two creators would wait for each other's lock. */
const SHARE_LOCK_COLLECTION = statement(`
  SELECT number, dropped FROM search_collection c
  WHERE index_id = $1 AND EXISTS (SELECT 1 FROM search_namespace n WHERE n.index_id = $1 AND n.name = $2 AND NOT n.gone)
  FOR SHARE`);
const LOCK_COLLECTION = statement('SELECT number, dropped FROM search_collection WHERE index_id = $1 FOR UPDATE');
const INSERT_COLLECTION = statement(
  'INSERT INTO search_collection (index_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING number',
);
const COUNT_NAMESPACES = statement('SELECT count(*) AS namespaces FROM search_namespace WHERE index_id = $1 AND NOT gone');
const INSERT_NAMESPACE = statement('INSERT INTO search_namespace (index_id, name) VALUES ($1, $2) RETURNING number');
const SELECT_BYTES = statement('SELECT coalesce(pg_total_relation_size(to_regclass($1)), 0)::bigint AS bytes');

export interface StoredNamespace {
  /** Name of the table of the index. */
  readonly table: string;
  /** Number of the namespace, which is part of every row and every word in the index. */
  readonly namespace: number;
  readonly documents: number;
}

export const tableName = (collection: number): string => `search_document_${collection}`;

/** Returns SQL that creates a table. `repeats` and `fields` are described in `DocumentText` (document-text.ts). */
export const createTableSql = (table: string): readonly string[] => [
  `CREATE TABLE ${table} (
    namespace bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    length integer NOT NULL,
    repeats jsonb,
    terms tsvector NOT NULL,
    tags tsvector NOT NULL,
    content text NOT NULL,
    metadata text,
    fields jsonb,
    PRIMARY KEY (namespace, id)
  )`,
  `CREATE INDEX ${table}_words ON ${table} USING gin (terms, tags) WITH (gin_pending_list_limit = 1024)`,
];

/** Returns where the namespace is stored; null if it never had documents. */
export async function findNamespace(session: Session, indexId: string, namespace: string): Promise<StoredNamespace | null> {
  const [row] = await session.query(FIND_NAMESPACE, [indexId, namespace]);
  if (!row) return null;
  const table = tableName(integer(row, 'collection'));
  return { table, namespace: integer(row, 'number'), documents: integer(row, 'documents') };
}

/** Repeats `work` if a table that it looked up has since been replaced or dropped. */
export async function retryOnTableChange<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (sqlStateOf(error) !== UNDEFINED_TABLE || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Calls `work` with a stored namespace and returns its result; null if the namespace does not exist. */
export function withNamespace<Result>(
  session: Session,
  { indexId, namespace }: { readonly indexId: string; readonly namespace: string },
  work: (storedNamespace: StoredNamespace) => Promise<Result>,
): Promise<Result | null> {
  return retryOnTableChange(async () => {
    const storedNamespace = await findNamespace(session, indexId, namespace);
    return storedNamespace && work(storedNamespace);
  });
}

/** Locks the namespace against other writes and its removal. Returns null if it does not exist. */
export async function lockNamespace(
  session: TransactionSession,
  indexId: string,
  namespace: string,
): Promise<StoredNamespace | null> {
  const collections = session.query(SHARE_LOCK_COLLECTION, [indexId, namespace]);
  const namespaces = session.query(LOCK_NAMESPACE, [indexId, namespace]);
  const [[collection], [row]] = await Promise.all([collections, namespaces]);
  if (!collection || flag(collection, 'dropped') || !row) return null;
  const table = tableName(integer(collection, 'number'));
  return { table, namespace: integer(row, 'number'), documents: integer(row, 'documents') };
}

/** Locks the whole index against writes of other transactions. Returns the number of its table; null if there is no such index. */
export async function lockCollection(session: TransactionSession, indexId: string): Promise<number | null> {
  const [row] = await session.query(LOCK_COLLECTION, [indexId]);
  return row && !flag(row, 'dropped') ? integer(row, 'number') : null;
}

/** Like `lockNamespace`, but creates the table and the namespace if they do not exist. Returns `gone` if the index was deleted. */
export async function createNamespace(
  session: TransactionSession,
  indexId: string,
  namespace: string,
  maxNamespaces: number,
): Promise<StoredNamespace | 'too-many-namespaces' | 'gone'> {
  const existingNamespace = await lockNamespace(session, indexId, namespace);
  if (existingNamespace) return existingNamespace;
  const [createdCollection] = await session.query(INSERT_COLLECTION, [indexId]);
  if (createdCollection)
    for (const sql of createTableSql(tableName(integer(createdCollection, 'number')))) session.send(unpreparedStatement(sql));
  const collection = await lockCollection(session, indexId);
  if (collection === null) return 'gone';
  // Another transaction may have created the namespace in the meantime.
  const [row] = await session.query(LOCK_NAMESPACE, [indexId, namespace]);
  const commonFields = { table: tableName(collection), documents: row ? integer(row, 'documents') : 0 };
  if (row) return { ...commonFields, namespace: integer(row, 'number') };
  const [countRow] = await session.query(COUNT_NAMESPACES, [indexId]);
  if (countRow && integer(countRow, 'namespaces') >= maxNamespaces) return 'too-many-namespaces';
  const [createdRow] = await session.query(INSERT_NAMESPACE, [indexId, namespace]);
  if (!createdRow) throw new Error('the namespace was not created');
  return { ...commonFields, namespace: integer(createdRow, 'number') };
}

/** Returns the table of the index; null if it never had documents. */
export async function findTable(session: Session, indexId: string): Promise<string | null> {
  const [row] = await session.query(FIND_TABLE, [indexId]);
  return row ? tableName(integer(row, 'number')) : null;
}

/** Returns the bytes on disk of the table, including its indexes; 0 if there is no table. */
export async function readDiskBytes(session: Session, table: string): Promise<number> {
  const [row] = await session.query(SELECT_BYTES, [table]);
  return row ? integer(row, 'bytes') : 0;
}

/** Returns the names of the namespaces with their numbers of documents. */
export async function listNamespaces(session: Session, indexId: string) {
  const rows = await session.query(SELECT_NAMESPACES, [indexId]);
  return rows.map((row) => ({ name: text(row, 'name'), documents: integer(row, 'documents') }));
}
