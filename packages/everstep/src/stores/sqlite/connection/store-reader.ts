/** Reads everything in the files of an embedded store that no server uses, row by row, to copy it elsewhere. */
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { MIGRATIONS } from '../migrations/index.js';
import { integer, type Row, text } from './columns.js';
import { StoreOpenError, toOpenError } from './connection.js';
import { assertStore, openExclusively } from './store-at-rest.js';
import { openImmutable } from './store-loss.js';

export interface DatabaseReader {
  /** Returns the rows of a statement, read on demand: only one is in memory at a time. */
  rows(sql: string): IterableIterator<Row>;
  count(table: string): number;
  close(): void;
}

export interface DatabaseReaderOptions {
  readonly file: string;
  /** Whether no process writes the file, as in a backup. It is then read without a lock, and no files are created beside it. */
  readonly isImmutable: boolean;
}

const openDatabase = ({ file, isImmutable }: DatabaseReaderOptions): DatabaseSync =>
  isImmutable ? openImmutable(file) : openExclusively(file);

/** Returns whether this version of Node truncates texts at the character U+0000 when it reads them, as early versions do. */
const truncatesTexts = (database: DatabaseSync): boolean =>
  String(database.prepare("SELECT 'a' || char(0) || 'b' AS read").get()?.read).length < 3;

/** Throws StoreOpenError if this version of Node would not read all text. */
function assertReadable(database: DatabaseSync, file: string): void {
  if (!truncatesTexts(database)) return;
  const columns = database
    .prepare(
      `SELECT t.name AS name, c.name AS column FROM sqlite_schema t, pragma_table_info(t.name) c
       WHERE t.type = 'table' AND c.type = 'TEXT' AND t.name NOT LIKE 'sqlite_%'`,
    )
    .all();
  for (const row of columns) {
    const [table, column] = [text(row, 'name'), text(row, 'column')];
    const truncatedRow = database
      .prepare(`SELECT 1 FROM ${table} WHERE instr(CAST("${column}" AS BLOB), x'00') > 0 LIMIT 1`)
      .get();
    if (truncatedRow)
      throw new StoreOpenError(
        'unreadable',
        `${file} contains text with the character U+0000 (${column} of ${table}), which Node ${process.versions.node} truncates. ` +
          'Use Node 24 or newer. Nothing was changed.',
      );
  }
}

const wholeFile = (database: DatabaseSync): DatabaseReader => ({
  rows: (sql) => database.prepare(sql).iterate() as IterableIterator<Row>,
  count(table) {
    const row = database.prepare(`SELECT count(*) AS rows FROM ${table}`).get();
    return row ? integer(row, 'rows') : 0;
  },
  close: () => database.close(),
});

/**
 * Opens a store; null if there is no such file. Throws StoreOpenError if a server uses it, if it is not a store, or if its schema
 * is of another version: a complete copy requires that every table is known.
 */
export function openStoreReader(options: DatabaseReaderOptions): DatabaseReader | null {
  const { file } = options;
  if (!existsSync(file)) return null;
  let database: DatabaseSync | null = null;
  try {
    database = openDatabase(options);
    const schema = assertStore(database, file);
    if (schema < MIGRATIONS.length)
      throw new StoreOpenError(
        'older-schema',
        `${file} was written by an older version of Everstep (schema ${schema}; this version has schema ${MIGRATIONS.length}). ` +
          'Start a server of this version on it once, then stop the server.',
      );
    assertReadable(database, file);
    return wholeFile(database);
  } catch (error) {
    database?.close();
    throw toOpenError(error, file);
  }
}

export interface NamespaceSource {
  readonly name: string;
  /** SQL for its documents: `id`, `content`, `metadata`. */
  readonly documents: string;
  readonly count: number;
}

export interface IndexReader extends DatabaseReader {
  readonly namespaces: readonly NamespaceSource[];
}

/** Opens the file of a search index; null if there is none, as for an index without documents. */
export function openIndexReader(options: DatabaseReaderOptions): IndexReader | null {
  const { file } = options;
  if (!existsSync(file)) return null;
  let database: DatabaseSync | null = null;
  try {
    database = openDatabase(options);
    const rows = database.prepare('SELECT seq, name, documents FROM namespace WHERE gone = 0 ORDER BY seq').all();
    const namespaces = rows.map((row) => ({
      name: text(row, 'name'),
      documents: `SELECT id, content, metadata FROM document_${integer(row, 'seq')} ORDER BY seq`,
      count: integer(row, 'documents'),
    }));
    return { ...wholeFile(database), namespaces };
  } catch (error) {
    database?.close();
    throw toOpenError(error, file);
  }
}
