/** Inspects and opens store files that no server uses: those in a backup, and those of a stopped server. */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { CheckResult } from '../../shared/consistency/checks.js';
import { MIGRATIONS } from '../migrations/index.js';
import { checkConsistency } from '../storage/consistency.js';
import { type CopyRequest, copyOnline, FULL_PACE } from '../storage/online-copy.js';
import { text } from './columns.js';
import { APPLICATION_ID, StoreOpenError, toOpenError } from './connection.js';
import { doubtsOf, findLoss, openToRead, type StoreNotice } from './store-loss.js';

const BUSY_TIMEOUT_MS = 1000;
const MAX_PROBLEMS = 5;

/** Tables whose rows are counted, by the name of the count. */
const COUNTED_TABLES = {
  runs: 'run',
  journalEntries: 'step',
  deadLetters: 'dead_letter',
  tasks: 'task',
  schedules: 'schedule',
  queueInstances: 'queue_instance',
  users: 'account_user',
  searchIndexes: 'search_index',
} as const;
export type StoreCounts = { readonly [Name in keyof typeof COUNTED_TABLES]: number };

export interface Inspection {
  /** First findings of `PRAGMA integrity_check`; empty if the file is consistent. */
  readonly problems: readonly string[];
}

export interface StoreInspection extends Inspection {
  readonly schema: number;
  readonly counts: StoreCounts;
}

const numberOf = (database: DatabaseSync, sql: string): number =>
  Number(Object.values(database.prepare(sql).get() ?? {})[0] ?? 0);

function readDatabase<Result>(file: string, read: (database: DatabaseSync) => Result): Result {
  let database: DatabaseSync | null = null;
  try {
    database = openToRead(file);
    return read(database);
  } catch (error) {
    throw toOpenError(error, file);
  } finally {
    database?.close();
  }
}

function problemsOf(database: DatabaseSync): readonly string[] {
  const problems = database.prepare(`PRAGMA integrity_check(${MAX_PROBLEMS})`).all();
  return problems.map((row) => text(row, 'integrity_check')).filter((line) => line !== 'ok');
}

/** Returns the schema version of the store. Throws StoreOpenError if the file is not a store or is newer than this version. */
export function assertStore(database: DatabaseSync, file: string): number {
  const schema = numberOf(database, 'PRAGMA user_version');
  if (numberOf(database, 'PRAGMA application_id') !== APPLICATION_ID || schema === 0)
    throw new StoreOpenError('not-a-store', `${file} is not an Everstep store.`);
  if (schema > MIGRATIONS.length)
    throw new StoreOpenError(
      'newer-schema',
      `${file} was written by a newer version of Everstep (schema ${schema}; this version supports ${MIGRATIONS.length}).`,
    );
  return schema;
}

const hasTable = (database: DatabaseSync, table: string): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) !== undefined;

/** Reads and inspects the whole file. Throws StoreOpenError if it is not a store, too damaged to read, or too new. */
export function inspectStore(file: string): StoreInspection {
  return readDatabase(file, (database) => {
    const schema = assertStore(database, file);
    const problems = problemsOf(database);
    const count = (table: string) => (hasTable(database, table) ? numberOf(database, `SELECT count(*) FROM ${table}`) : 0);
    // The entries have this type because of the table above.
    const counts = Object.fromEntries(Object.entries(COUNTED_TABLES).map(([name, table]) => [name, count(table)])) as StoreCounts;
    return { schema, problems, counts };
  });
}

/**
 * Checks the invariants. Returns null if the schema is older than this version's, because a server must migrate the file first.
 * Throws like `inspectStore`.
 */
export const checkStore = (file: string): readonly CheckResult[] | null =>
  readDatabase(file, (database) => (assertStore(database, file) < MIGRATIONS.length ? null : checkConsistency(database)));

/**
 * Like `inspectStore`, for the files of a stopped server, including the log; null if there are none. `companionFiles` are as in
 * `findLoss`. Also throws StoreOpenError if the store has lost commits or is in use.
 */
export function inspectStoppedStore(
  file: string,
  companionFiles: readonly string[],
): (StoreInspection & { readonly doubts: readonly StoreNotice[] }) | null {
  const loss = findLoss(file, companionFiles);
  if (loss !== null) throw new StoreOpenError('damaged', loss);
  if (!existsSync(file)) return null;
  return { ...inspectStore(file), doubts: readDatabase(file, (database) => doubtsOf(database, file)) };
}

export interface QuickInspection {
  readonly schema: number;
  /** Schema version that this program uses. */
  readonly currentSchema: number;
  readonly doubts: readonly StoreNotice[];
}

/** Like `inspectStoppedStore`, without reading the whole file. */
export function inspectQuickly(file: string, companionFiles: readonly string[]): QuickInspection | null {
  const loss = findLoss(file, companionFiles);
  if (loss !== null) throw new StoreOpenError('damaged', loss);
  if (!existsSync(file)) return null;
  return readDatabase(file, (database) => ({
    schema: assertStore(database, file),
    currentSchema: MIGRATIONS.length,
    doubts: doubtsOf(database, file),
  }));
}

/** Inspects the file of a search index. Throws StoreOpenError if the file is not one, or is too damaged to be read. */
export function inspectDocuments(file: string): Inspection & { readonly documents: number } {
  return readDatabase(file, (database) => {
    if (!hasTable(database, 'namespace')) throw new StoreOpenError('not-a-store', `${file} is not the file of a search index.`);
    const documents = numberOf(database, 'SELECT coalesce(sum(documents), 0) FROM namespace WHERE gone = 0');
    return { problems: problemsOf(database), documents };
  });
}

/** A file that is open to be copied. No server may use it during the copy. */
export interface FileAtRest {
  copyTo(request: CopyRequest): Promise<void>;
  close(): void;
}

/** Opens a file for this process alone. Throws StoreOpenError if a server uses it or it has lost commits. */
export function openExclusively(file: string): DatabaseSync {
  const loss = findLoss(file);
  if (loss !== null) throw new StoreOpenError('damaged', loss);
  const database = new DatabaseSync(file);
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA locking_mode = EXCLUSIVE`);
    // The first access takes the lock, and reads what a crash has left in the log.
    database.exec('BEGIN IMMEDIATE; ROLLBACK');
    return database;
  } catch (error) {
    database.close();
    throw toOpenError(error, file);
  }
}

function openFile(file: string): { readonly database: DatabaseSync } & FileAtRest {
  const database = openExclusively(file);
  return { database, copyTo: (request) => copyOnline(database, request, FULL_PACE), close: () => database.close() };
}

export interface StoreAtRest extends FileAtRest {
  /** Ids of search indexes that are not deleted, in the order of creation. */
  readonly searchIndexIds: readonly string[];
}

/** Opens a store for a copy; null if there is no such file. */
export function openStoreAtRest(file: string): StoreAtRest | null {
  if (!existsSync(file)) return null;
  const { database, copyTo, close } = openFile(file);
  try {
    assertStore(database, file);
    const rows = hasTable(database, 'search_index')
      ? database.prepare('SELECT index_id FROM search_index WHERE deleted = 0 ORDER BY seq').all()
      : [];
    return { searchIndexIds: rows.map((row) => text(row, 'index_id')), copyTo, close };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens the documents of an index for a copy; null if it has none. */
export function openDocumentsAtRest(file: string): FileAtRest | null {
  return existsSync(file) ? openFile(file) : null;
}
