/**
 * Copies everything from an embedded store into an empty PostgreSQL schema. It is one transaction, and it is made to last
 * only when everything that was written has been read again and found to be what was read here: who interrupts it, or
 * whatever fails, leaves the schema as empty as it was.
 */
import type { Columns, FirstLoad } from '../stores/postgres/first-load.js';
import { beginFirstLoad } from '../stores/postgres/first-load.js';
import type { WholeFile } from '../stores/sqlite/whole-store.js';
import { RowSum, type Sum } from './checksum.js';
import type { CopiedTable, TargetRow } from './copied-table.js';
import { CopyError } from './copy-error.js';
import { type CopySource, openCopySource } from './source.js';
import { COPIED_TABLES } from './tables.js';

/** Sent in one statement: so many rows, or so many characters and bytes. */
const ROWS_AT_ONCE = 1000;
const SIZE_AT_ONCE = 4 * 1024 * 1024;
const DOCUMENTS_AT_ONCE = 200;
const DOCUMENT = { id: 'text', content: 'text', metadata: 'text' } as const satisfies Columns;

/** PostgreSQL has no such character in a text. */
const NUL = /\0/g;
const INSTEAD_OF_NUL = '\uFFFD';

/** `reading` is about what was written. */
export interface CopyProgress {
  readonly doing: 'writing' | 'reading';
  readonly what: string;
  readonly done: number;
  /** Null: not known before it is done. */
  readonly of: number | null;
}

export interface CopyOptions {
  /** Absolute: a data directory of a stopped service, a back-up, or the file of a store. */
  readonly from: string;
  readonly to: string;
  readonly onProgress: (progress: CopyProgress) => void;
  readonly signal?: AbortSignal;
}

export interface CopiedRows extends Sum {
  readonly what: string;
}

export interface Copied {
  readonly source: CopySource['kind'];
  /** By table, with the same count and checksum on both sides. */
  readonly tables: readonly CopiedRows[];
  /** Texts that had a character 0, which PostgreSQL does not take: they have U+FFFD instead. */
  readonly changedTexts: number;
}

interface Copying {
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

/** The value for a column; what is no value of a column is a fault. */
function targetRow(columns: Columns, row: Readonly<Record<string, unknown>>, copying: Copying): TargetRow {
  const target: Record<string, TargetRow[string]> = {};
  for (const [name, type] of Object.entries(columns)) {
    const value = row[name] ?? null;
    if (value === null || typeof value === 'boolean' || value instanceof Uint8Array) target[name] = value;
    else if (type === 'boolean' && (value === 0 || value === 1)) target[name] = value === 1;
    else if (type !== 'boolean' && typeof value === 'number') target[name] = value;
    else if (typeof value === 'string') {
      target[name] = value.includes('\0') ? value.replace(NUL, INSTEAD_OF_NUL) : value;
      if (target[name] !== value) copying.changedTexts++;
    } else throw new TypeError(`column ${name} is ${typeof value}, not ${type}`);
  }
  return target;
}

async function writeTable(copying: Copying, { table, columns, select, allOf, rowsOf }: CopiedTable): Promise<Sum> {
  const { source, load, options } = copying;
  const expected = allOf === null ? null : source.store.count(allOf);
  const sum = new RowSum(columns);
  let [rows, size, read, done]: [TargetRow[], number, number, number] = [[], 0, 0, 0];
  const send = async () => {
    options.signal?.throwIfAborted();
    await load.insert(table, columns, rows);
    done += rows.length;
    options.onProgress({ doing: 'writing', what: table, done, of: expected });
    [rows, size] = [[], 0];
  };
  for (const row of source.store.rows(select)) {
    read++;
    for (const made of rowsOf ? rowsOf(row) : [row]) {
      const target = targetRow(columns, made, copying);
      sum.add(target);
      rows.push(target);
      size += sizeOf(target);
    }
    if (rows.length >= ROWS_AT_ONCE || size >= SIZE_AT_ONCE) await send();
  }
  await send();
  if (expected !== null && read !== expected)
    throw new CopyError(
      `The store has ${expected} rows in ${allOf}, but ${read} belong to something: it is damaged. Nothing was copied.`,
    );
  return sum.get();
}

/** Rejects with CopyError when what the database gives back is not what it was given. */
async function assertSame(
  { options }: Copying,
  what: string,
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
    options.onProgress({ doing: 'reading', what, done, of: written.rows });
  }
  const found = sum.get();
  if (found.rows !== written.rows || found.checksum !== written.checksum)
    throw new CopyError(
      `Of ${what} the database has ${found.rows} rows with the checksum ${found.checksum}, but was given ${written.rows} with ` +
        `${written.checksum}. Nothing was copied.`,
    );
}

const indexIdsOf = (store: WholeFile): readonly string[] =>
  [...store.rows('SELECT index_id FROM search_index WHERE deleted = 0 ORDER BY seq')].map((row) => String(row.index_id));

/** Written and read again: all documents of all indexes. */
async function copyDocuments(copying: Copying): Promise<number> {
  const { source, load, options } = copying;
  let all = 0;
  for (const indexId of indexIdsOf(source.store)) {
    const index = source.openIndex(indexId);
    if (!index) continue;
    try {
      for (const { name, documents, count } of index.namespaces) {
        const what = `search index ${indexId}, namespace ${JSON.stringify(name)}`;
        const target = await load.namespace(indexId, name);
        const sum = new RowSum(DOCUMENT);
        let batch: { readonly id: string; readonly content: string; readonly metadata: string | null }[] = [];
        let [size, done] = [0, 0];
        const send = async () => {
          options.signal?.throwIfAborted();
          if (batch.length > 0) await target.add(batch);
          done += batch.length;
          options.onProgress({ doing: 'writing', what, done, of: count });
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
        if (done !== count) throw new CopyError(`The ${what} has ${done} documents, and says ${count}. Nothing was copied.`);
        await assertSame(copying, what, DOCUMENT, target.read(), sum.get());
        all += done;
      }
    } finally {
      index.close();
    }
  }
  return all;
}

async function copyAll(copying: Copying): Promise<Copied> {
  const { source, load } = copying;
  const tables: CopiedRows[] = [];
  for (const copied of COPIED_TABLES) {
    const written = await writeTable(copying, copied);
    await assertSame(copying, copied.table, copied.columns, load.read(copied.table, copied.columns), written);
    tables.push({ what: copied.table, ...written });
  }
  const documents = await copyDocuments(copying);
  tables.push({ what: 'documents', rows: documents, checksum: '' });
  return { source: source.kind, tables, changedTexts: copying.changedTexts };
}

/**
 * Rejects with CopyError, BackupError or StoreOpenError, whose messages are for the operator: then nothing was copied,
 * unless the message says that it is not known.
 */
export async function copyStore(options: CopyOptions): Promise<Copied> {
  const { from, to, signal } = options;
  const source = await openCopySource(from);
  try {
    signal?.throwIfAborted();
    const load = await beginFirstLoad(to);
    try {
      const copied = await copyAll({ source, load, options, changedTexts: 0 });
      signal?.throwIfAborted();
      await load.commit().catch((error) => {
        throw new CopyError(
          `The connection was lost while everything was made to last (${error.message}): the database has all of it, or ` +
            'nothing. Run the command again: it refuses a database that is not empty.',
          { cause: error },
        );
      });
      return copied;
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
