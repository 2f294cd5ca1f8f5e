/**
 * Copies an embedded store into an empty PostgreSQL schema in one transaction. The transaction is committed only after all written
 * rows have been read back and match the source. If the copy fails or is interrupted, the schema stays empty.
 */
import type { Columns, FirstLoad } from '../stores/postgres/connection/first-load.js';
import { beginFirstLoad } from '../stores/postgres/connection/first-load.js';
import type { DatabaseReader } from '../stores/sqlite/connection/store-reader.js';
import { ChecksumBuilder, type RowsChecksum } from './checksum.js';
import type { CopiedTable, SourceRow, TargetRow } from './copied-table.js';
import { CopyError } from './copy-error.js';
import { type CopySource, openCopySource } from './source.js';
import { COPIED_TABLES } from './tables.js';

/** Limits of one statement: the number of its rows or documents, and the total length of their texts and bytes. */
const MAX_BATCH_ROWS = 1000;
const MAX_BATCH_DOCUMENTS = 200;
const MAX_BATCH_SIZE = 4 * 1024 * 1024;
const DOCUMENT_COLUMNS = { id: 'text', content: 'text', metadata: 'text' } as const satisfies Columns;

/** Matches the only character that PostgreSQL does not support in texts. */
const NUL = /\0/g;
const NUL_REPLACEMENT = '\uFFFD';

/** Progress of a copy. `reading` refers to the verification of written rows. */
export interface CopyProgress {
  readonly phase: 'writing' | 'reading';
  readonly item: string;
  readonly count: number;
  /** Total number; null while it is unknown. */
  readonly total: number | null;
}

export interface CopyOptions {
  /** Absolute path of a data directory of a stopped server, a backup, or a store file. */
  readonly from: string;
  readonly to: string;
  readonly onProgress: (progress: CopyProgress) => void;
  readonly signal?: AbortSignal;
}

export interface CopiedRows extends RowsChecksum {
  /** The table or kind of rows. A field of the JSON output of the command. */
  readonly what: string;
}

export interface CopyReport {
  readonly source: CopySource['kind'];
  /** Copied tables with their row counts and checksums, which are the same in both stores. */
  readonly tables: readonly CopiedRows[];
  /** Number of texts with a NUL character, which PostgreSQL does not support. It is replaced by U+FFFD. */
  readonly changedTexts: number;
}

interface CopyContext {
  readonly source: CopySource;
  readonly load: FirstLoad;
  readonly options: CopyOptions;
  changedTexts: number;
}

const sizeOf = (row: TargetRow): number => {
  let size = 0;
  for (const value of Object.values(row)) if (typeof value === 'string' || value instanceof Uint8Array) size += value.length;
  return size;
};

/** Converts a row. Throws if a value does not match its column type. */
function toTargetRow(columns: Columns, row: Readonly<Record<string, unknown>>, context: CopyContext): TargetRow {
  const target: Record<string, TargetRow[string]> = {};
  for (const [name, type] of Object.entries(columns)) {
    const value = row[name] ?? null;
    if (value === null || typeof value === 'boolean' || value instanceof Uint8Array) target[name] = value;
    else if (type === 'boolean' && (value === 0 || value === 1)) target[name] = value === 1;
    else if (type !== 'boolean' && typeof value === 'number') target[name] = value;
    else if (typeof value === 'string') {
      target[name] = value.includes('\0') ? value.replace(NUL, NUL_REPLACEMENT) : value;
      if (target[name] !== value) context.changedTexts++;
    } else throw new TypeError(`column ${name} is ${typeof value}, not ${type}`);
  }
  return target;
}

async function writeTable(
  context: CopyContext,
  { table, columns, select, completeTable, extraSelect, targetRowsOf }: CopiedTable,
): Promise<RowsChecksum> {
  const { source, load, options } = context;
  const expectedCount = completeTable === null ? null : source.store.count(completeTable);
  const checksum = new ChecksumBuilder(columns);
  let [batch, batchSize, readCount, writtenCount]: [TargetRow[], number, number, number] = [[], 0, 0, 0];
  const writeBatch = async () => {
    options.signal?.throwIfAborted();
    await load.insert(table, columns, batch);
    writtenCount += batch.length;
    options.onProgress({ phase: 'writing', item: table, count: writtenCount, total: expectedCount });
    [batch, batchSize] = [[], 0];
  };
  const addRow = (row: SourceRow) => {
    const targetRow = toTargetRow(columns, row, context);
    checksum.add(targetRow);
    batch.push(targetRow);
    batchSize += sizeOf(targetRow);
  };
  for (const row of source.store.rows(select)) {
    readCount++;
    for (const convertedRow of targetRowsOf ? targetRowsOf(row) : [row]) addRow(convertedRow);
    if (batch.length >= MAX_BATCH_ROWS || batchSize >= MAX_BATCH_SIZE) await writeBatch();
  }
  for (const row of extraSelect === undefined ? [] : source.store.rows(extraSelect)) addRow(row);
  await writeBatch();
  if (expectedCount !== null && readCount !== expectedCount)
    throw new CopyError(
      `The store has ${expectedCount} rows in ${completeTable}, but only ${readCount} with a parent row: it is damaged. Nothing was copied.`,
    );
  return checksum.result();
}

/** Compares the rows in the database with the written ones. Rejects with CopyError if they differ. */
async function assertRowsMatch(
  { options }: CopyContext,
  item: string,
  columns: Columns,
  batches: AsyncIterable<readonly Readonly<Record<string, unknown>>[]>,
  writtenChecksum: RowsChecksum,
): Promise<void> {
  const checksum = new ChecksumBuilder(columns);
  let readCount = 0;
  for await (const rows of batches) {
    options.signal?.throwIfAborted();
    for (const row of rows) checksum.add(row);
    readCount += rows.length;
    options.onProgress({ phase: 'reading', item, count: readCount, total: writtenChecksum.rows });
  }
  const readBack = checksum.result();
  if (readBack.rows !== writtenChecksum.rows || readBack.checksum !== writtenChecksum.checksum)
    throw new CopyError(
      `The database has ${readBack.rows} rows of ${item} with the checksum ${readBack.checksum}, but ${writtenChecksum.rows} with the checksum ` +
        `${writtenChecksum.checksum}. Nothing was copied.`,
    );
}

const indexIdsOf = (store: DatabaseReader): readonly string[] =>
  [...store.rows('SELECT index_id FROM search_index WHERE deleted = 0 ORDER BY seq')].map((row) => String(row.index_id));

/** Writes and verifies the documents of all indexes. Resolves with the number of documents. */
async function copyDocuments(context: CopyContext): Promise<number> {
  const { source, load, options } = context;
  let documentCount = 0;
  for (const indexId of indexIdsOf(source.store)) {
    const index = source.openIndex(indexId);
    if (!index) continue;
    try {
      for (const { name, documents, count } of index.namespaces) {
        const item = `search index ${indexId}, namespace ${JSON.stringify(name)}`;
        const targetNamespace = await load.namespace(indexId, name);
        const checksum = new ChecksumBuilder(DOCUMENT_COLUMNS);
        let batch: { readonly id: string; readonly content: string; readonly metadata: string | null }[] = [];
        let [batchSize, writtenCount] = [0, 0];
        const writeBatch = async () => {
          options.signal?.throwIfAborted();
          if (batch.length > 0) await targetNamespace.add(batch);
          writtenCount += batch.length;
          options.onProgress({ phase: 'writing', item, count: writtenCount, total: count });
          [batch, batchSize] = [[], 0];
        };
        for (const row of index.rows(documents)) {
          const document = toTargetRow(DOCUMENT_COLUMNS, row, context);
          checksum.add(document);
          const { id, content, metadata } = document;
          batch.push({ id: String(id), content: String(content), metadata: metadata === null ? null : String(metadata) });
          batchSize += sizeOf(document);
          if (batch.length >= MAX_BATCH_DOCUMENTS || batchSize >= MAX_BATCH_SIZE) await writeBatch();
        }
        await writeBatch();
        if (writtenCount !== count)
          throw new CopyError(
            `The ${item} contains ${writtenCount} documents, but the source store records ${count}. Nothing was copied.`,
          );
        await assertRowsMatch(context, item, DOCUMENT_COLUMNS, targetNamespace.read(), checksum.result());
        documentCount += writtenCount;
      }
    } finally {
      index.close();
    }
  }
  return documentCount;
}

async function copyAll(context: CopyContext): Promise<CopyReport> {
  const { source, load } = context;
  const tables: CopiedRows[] = [];
  for (const table of COPIED_TABLES) {
    const writtenChecksum = await writeTable(context, table);
    await assertRowsMatch(context, table.table, table.columns, load.read(table.table, table.columns), writtenChecksum);
    tables.push({ what: table.table, ...writtenChecksum });
  }
  const documentCount = await copyDocuments(context);
  tables.push({ what: 'documents', rows: documentCount, checksum: '' });
  return { source: source.kind, tables, changedTexts: context.changedTexts };
}

/**
 * Copies the store. Rejects with CopyError, BackupError or StoreOpenError, whose messages are for the operator. In that case,
 * nothing was copied, unless the message states that the result is unknown.
 */
export async function copyStore(options: CopyOptions): Promise<CopyReport> {
  const { from, to, signal } = options;
  const source = await openCopySource(from);
  try {
    signal?.throwIfAborted();
    const load = await beginFirstLoad(to);
    try {
      const report = await copyAll({ source, load, options, changedTexts: 0 });
      signal?.throwIfAborted();
      await load.commit().catch((error) => {
        throw new CopyError(
          `The connection was lost during the commit (${error.message}), so the database contains either everything or ` +
            'nothing. Run the command again: it does not write to a database that is not empty.',
          { cause: error },
        );
      });
      return report;
    } finally {
      await load.close();
    }
  } catch (error) {
    if (signal?.aborted && error === signal.reason) throw new CopyError('Interrupted: nothing was copied.', { cause: error });
    throw error;
  } finally {
    source.close();
  }
}
