/** The tables in the file of one index: a list of namespaces, and three tables for each of them. */
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import { RECORD_BYTES } from '../../../ports/stores/stored-bytes.js';
import { transact } from '../connection/connection.js';
import { createPrivately } from '../connection/private-file.js';

const BUSY_TIMEOUT_MS = 1000;
const PAGE_CACHE_KIB = 32 * 1024;
const KEPT_LOG_BYTES = 16 * 1024 * 1024;

/** Words of letters and digits, without accents, reduced to their English stems. */
export const TOKENIZER = 'porter unicode61 remove_diacritics 2';

/** SQL: the bytes of the content and metadata of a document. */
export const DOCUMENT_BYTES = 'octet_length(content) + coalesce(octet_length(metadata), 0)';
/** SQL: the bytes by which a document is counted. */
export const STORED_BYTES = `${RECORD_BYTES} + ${DOCUMENT_BYTES}`;

const NAMESPACE_TABLE = `
CREATE TABLE IF NOT EXISTS namespace (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  documents INTEGER NOT NULL DEFAULT 0,
  -- RECORD_BYTES for each document, and those of content and metadata
  bytes INTEGER NOT NULL DEFAULT 0,
  -- 1: it is not visible, and its rows are being removed
  gone INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS namespace_name ON namespace (name) WHERE gone = 0;
`;

/** The text is not stored twice: its index has no content, and its rows are found by the number of the document. */
export const namespaceTables = (seq: number): string => `
CREATE TABLE document_${seq} (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL,
  metadata TEXT
) STRICT;
CREATE VIRTUAL TABLE text_${seq} USING fts5 (body, tags, content = '', contentless_delete = 1, tokenize = '${TOKENIZER}');
CREATE VIRTUAL TABLE word_${seq} USING fts5vocab ('text_${seq}', 'row');
`;

/** Temporary tables in which the tokenizer splits a query into tokens. */
const QUERY_WORDS = `
CREATE VIRTUAL TABLE temp.query_word USING fts5 (word, tokenize = '${TOKENIZER}');
CREATE VIRTUAL TABLE temp.query_token USING fts5vocab ('temp', 'query_word', 'instance');
`;

/** Turns off the defensive mode of newer Node versions, which forbids removing rows of an unused text index piece by piece. */
const OPTIONS: DatabaseSyncOptions & { readonly defensive: boolean } = { defensive: false };

/** Counts the bytes in a file of a version that did not count them. */
function countBytes(database: DatabaseSync): void {
  const columns = database.prepare("SELECT name FROM pragma_table_info('namespace')").all();
  if (columns.some(({ name }) => name === 'bytes')) return;
  transact(database, () => {
    database.exec('ALTER TABLE namespace ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0');
    const update = database.prepare('UPDATE namespace SET bytes = ? WHERE seq = ?');
    for (const { seq } of database.prepare('SELECT seq FROM namespace WHERE gone = 0').all()) {
      const sum = database.prepare(`SELECT coalesce(sum(${STORED_BYTES}), 0) AS bytes FROM document_${Number(seq)}`).get();
      update.run(Number(sum?.bytes ?? 0), Number(seq));
    }
  });
}

const IN_MEMORY = ':memory:';

/** Opens the file of an index, which is created if it does not exist. `:memory:` stores nothing. */
export function openIndexDatabase(file: string): DatabaseSync {
  if (file !== IN_MEMORY) createPrivately(file);
  const database = new DatabaseSync(file, OPTIONS);
  try {
    database.exec(`
      PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS};
      PRAGMA auto_vacuum = INCREMENTAL;
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA cache_size = -${PAGE_CACHE_KIB};
      PRAGMA journal_size_limit = ${KEPT_LOG_BYTES};
      PRAGMA temp_store = MEMORY;
      ${NAMESPACE_TABLE}
      ${QUERY_WORDS}
    `);
    countBytes(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
