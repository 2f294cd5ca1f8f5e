/**
 * Copies an embedded store into an empty PostgreSQL schema in one transaction. It commits only after all written rows
 * were read again and match the source. If the copy fails or is interrupted, the schema stays empty.
 */
import type { Columns, FirstLoad } from '../stores/postgres/connection/first-load.js';
import { beginFirstLoad } from '../stores/postgres/connection/first-load.js';
import type { WholeFile } from '../stores/sqlite/connection/whole-store.js';
import { RowSum, type Sum } from './checksum.js';
import type { CopiedTable, SourceRow, TargetRow } from './copied-table.js';
import { CopyError } from './copy-error.js';
import { type CopySource, openCopySource } from './source.js';
import { COPIED_TABLES } from './tables.js';

/** Limits of one statement: a number of rows, or of characters and bytes. */
const ROWS_AT_ONCE = 1000;
const SIZE_AT_ONCE = 4 * 1024 * 1024;
const DOCUMENTS_AT_ONCE = 200;
const DOCUMENT = { id: 'text', content: 'text', metadata: 'text' } as const satisfies Columns;

/** A character that PostgreSQL does not support in texts. */
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

export interface CopiedRows extends Sum {
  /** The table or kind of rows. A field of the JSON output of the command. */
  readonly what: string;
}

export interface CopyReport {
  readonly source: CopySource['kind'];
  /** Copied tables, with the same count and checksum on both sides. */
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
function targetRow(columns: Columns, row: Readonly<Record<string, unknown>>, copying: CopyContext): TargetRow {
  const target: Record<string, TargetRow[string]> = {};
  for (const [name, type] of Object.entries(columns)) {
    const value = row[name] ?? null;
    if (value === null || typeof value === 'boolean' || value instanceof Uint8Array) target[name] = value;
    else if (type === 'boolean' && (value === 0 || value === 1)) target[name] = value === 1;
    else if (type !== 'boolean' && typeof value === 'number') target[name] = value;
    else if (typeof value === 'string') {
      target[name] = value.includes('\0') ? value.replace(NUL, NUL_REPLACEMENT) : value;
      if (target[name] !== value) copying.changedTexts++;
    } else throw new TypeError(`column ${name} is ${typeof value}, not ${type}`);
  }
  return target;
}

async function writeTable(
  copying: CopyContext,
  { table, columns, select, allOf, furtherRows: further, rowsOf }: CopiedTable,
): Promise<Sum> {
  const { source, load, options } = copying;
  const expected = allOf === null ? null : source.store.count(allOf);
  const sum = new RowSum(columns);
  let [rows, size, read, done]: [TargetRow[], number, number, number] = [[], 0, 0, 0];
  const send = async () => {
    options.signal?.throwIfAborted();
    await load.insert(table, columns, rows);
    done += rows.length;
    options.onProgress({ phase: 'writing', item: table, count: done, total: expected });
    [rows, size] = [[], 0];
  };
  const add = (row: SourceRow) => {
    const target = targetRow(columns, row, copying);
    sum.add(target);
    rows.push(target);
    size += sizeOf(target);
  };
  for (const row of source.store.rows(select)) {
    read++;
    for (const targetSource of rowsOf ? rowsOf(row) : [row]) add(targetSource);
    if (rows.length >= ROWS_AT_ONCE || size >= SIZE_AT_ONCE) await send();
  }
  for (const row of further === undefined ? [] : source.store.rows(further)) add(row);
  await send();
  if (expected !== null && read !== expected)
    throw new CopyError(
      `The store has ${expected} rows in ${allOf}, but only ${read} with a parent row: it is damaged. Nothing was copied.`,
    );
  return sum.get();
}

/** Compares the rows in the database with the written ones. Rejects with CopyError if they differ. */
async function assertSame(
  { options }: CopyContext,
  item: string,
  columns: Columns,
  batches: AsyncIterable<readonly Readonly<Record<string, unknown>>[]>,
  written: Sum,
): Promise<void> {
  const sum = new RowSum(columns);
  let done = 0;
  for await (const rows of batches) {
    options.signal?.throwIfAborted();
    for (const row of rows) sum.add(row);
    done += rows.length;
    options.onProgress({ phase: 'reading', item, count: done, total: written.rows });
  }
  const readSum = sum.get();
  if (readSum.rows !== written.rows || readSum.checksum !== written.checksum)
    throw new CopyError(
      `The database has ${readSum.rows} rows of ${item} with the checksum ${readSum.checksum}, but ${written.rows} with the checksum ` +
        `${written.checksum}. Nothing was copied.`,
    );
}

const indexIdsOf = (store: WholeFile): readonly string[] =>
  [...store.rows('SELECT index_id FROM search_index WHERE deleted = 0 ORDER BY seq')].map((row) => String(row.index_id));

/** Writes and verifies all documents of all indexes. */
async function copyDocuments(copying: CopyContext): Promise<number> {
  const { source, load, options } = copying;
  let copiedCount = 0;
  for (const indexId of indexIdsOf(source.store)) {
    const index = source.openIndex(indexId);
    if (!index) continue;
    try {
      for (const { name, documents, count } of index.namespaces) {
        const item = `search index ${indexId}, namespace ${JSON.stringify(name)}`;
        const target = await load.namespace(indexId, name);
        const sum = new RowSum(DOCUMENT);
        let batch: { readonly id: string; readonly content: string; readonly metadata: string | null }[] = [];
        let [size, done] = [0, 0];
        const send = async () => {
          options.signal?.throwIfAborted();
          if (batch.length > 0) await target.add(batch);
          done += batch.length;
          options.onProgress({ phase: 'writing', item, count: done, total: count });
          [batch, size] = [[], 0];
        };
        for (const row of index.rows(documents)) {
          const document = targetRow(DOCUMENT, row, copying);
          sum.add(document);
          const { id, content, metadata } = document;
          batch.push({ id: String(id), content: String(content), metadata: metadata === null ? null : String(metadata) });
          size += sizeOf(document);
          if (batch.length >= DOCUMENTS_AT_ONCE || size >= SIZE_AT_ONCE) await send();
        }
        await send();
        if (done !== count)
          throw new CopyError(
            `The ${item} contains ${done} documents, but the source store records ${count}. Nothing was copied.`,
          );
        await assertSame(copying, item, DOCUMENT, target.read(), sum.get());
        copiedCount += done;
      }
    } finally {
      index.close();
    }
  }
  return copiedCount;
}

async function copyAll(copying: CopyContext): Promise<CopyReport> {
  const { source, load } = copying;
  const tables: CopiedRows[] = [];
  for (const table of COPIED_TABLES) {
    const written = await writeTable(copying, table);
    await assertSame(copying, table.table, table.columns, load.read(table.table, table.columns), written);
    tables.push({ what: table.table, ...written });
  }
  const documents = await copyDocuments(copying);
  tables.push({ what: 'documents', rows: documents, checksum: '' });
  return { source: source.kind, tables, changedTexts: copying.changedTexts };
}

/**
 * Copies the store. Rejects with CopyError, BackupError or StoreOpenError, whose messages are for the operator. Nothing was
 * copied then, unless the message says that the result is unknown.
 */
export async function copyStore(options: CopyOptions): Promise<CopyReport> {
  const { from, to, signal } = options;
  const source = await openCopySource(from);
  try {
    signal?.throwIfAborted();
    const load = await beginFirstLoad(to);
    try {
      const table = await copyAll({ source, load, options, changedTexts: 0 });
      signal?.throwIfAborted();
      await load.commit().catch((error) => {
        throw new CopyError(
          `The connection was lost during the commit (${error.message}), so the database contains either everything or ` +
            'nothing. Run the command again: it refuses a database that is not empty.',
          { cause: error },
        );
      });
      return table;
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
