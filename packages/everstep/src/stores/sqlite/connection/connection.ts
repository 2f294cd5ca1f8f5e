/** The only connection to the database file: opened exclusively and migrated, with every statement prepared once. */
import { rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { MIGRATIONS } from '../migrations/index.js';
import { type CopyRequest, copyOnline } from '../storage/online-copy.js';
import { CommitCount, ensureStoreId } from './commit-count.js';
import { DurableMark, resetMark } from './durable-mark.js';
import { resultCode, storeErrorOf } from './errors.js';
import { LogSync } from './log-sync.js';
import { createPrivately } from './private-file.js';
import { copyDamagedFiles, describeLoss, doubtsOf, findLoss, hasContent, type StoreNotice } from './store-loss.js';

/** Marks the file as a store ("EVST"), so that the database of another program is not mistaken for one. */
export const APPLICATION_ID = 0x45565354;
const BUSY_TIMEOUT_MS = 1000;
const PAGE_CACHE_KIB = 16 * 1024;
/**
 * Page size of a new file; an existing file keeps its own. The log contains whole pages, and most commits change little of each, so
 * half the usual size halves the bytes that a commit writes.
 */
const PAGE_BYTES = 2048;
/** Pages in the write-ahead log at which SQLite moves them into the file: about 8 MiB. */
const CHECKPOINT_PAGES = 4000;
/** Free pages released at a time: 512 KiB. */
const PAGES_RELEASED = 256;
const KEPT_LOG_BYTES = 64 * 1024 * 1024;

const AUTO_VACUUM_INCREMENTAL = 2;

const IN_MEMORY = ':memory:';

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

export type StoreOpenErrorCode = 'in-use' | 'damaged' | 'newer-schema' | 'older-schema' | 'not-a-store' | 'unreadable';

/** Thrown if the store file cannot be used. The message is for the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
  readonly code: StoreOpenErrorCode;
  constructor(code: StoreOpenErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export interface ConnectionOptions {
  /** Called after each sync of the log. */
  readonly onSync?: (durationMs: number) => void;
  /** Called once when a sync of the log has failed. */
  readonly onDiskFailure?: (error: Error) => void;
  readonly onNotice?: (notice: StoreNotice) => void;
  /** Whether a store that has lost commits is opened, after its files were copied. */
  readonly acceptLoss?: boolean;
  /** Files or directories that exist only next to a store that was used. If they exist, a missing or empty database is a loss. */
  readonly companionFiles?: readonly string[];
}

export interface Connection {
  /** Each statement is prepared once and kept by its caller. */
  prepare(sql: string): StatementSync;
  exec(sql: string): void;
  /**
   * Counts the open transaction immediately before it commits, so that its loss can be detected. `sums` replaces the unsettled
   * sums, which are in the same row.
   */
  countCommit(sums?: string): void;
  /** Resolves when everything that was committed before is on the disk. `isAlone` is true if nothing else is in progress. */
  waitUntilDurable(isAlone?: boolean): Promise<void>;
  /** Must be called when a sync by SQLite itself has failed. Nothing is acknowledged from then on. */
  onSyncFailure(error: Error): void;
  /** Releases some of the empty pages; returns false when none are left. The file is truncated at a checkpoint. */
  releaseSpace(): boolean;
  /** Copies the database into another file while writes continue. */
  copyTo(request: CopyRequest): Promise<void>;
  /** The SQL of every prepared statement. */
  readonly statements: readonly string[];
  close(): Promise<void>;
}

function countOf(statement: StatementSync): number {
  const value = Object.values(statement.get() ?? {})[0];
  return typeof value === 'number' ? value : 0;
}

const pragma = (database: DatabaseSync, name: string): number => countOf(database.prepare(`PRAGMA ${name}`));

/** Runs `work` in one transaction, and counts the commit if the connection can. If `work` throws, everything is rolled back. */
export function transact<Result>(
  connection: Pick<Connection, 'exec'> & Partial<Pick<Connection, 'countCommit'>>,
  work: () => Result,
): Result {
  connection.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    connection.countCommit?.();
    connection.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(connection, error);
    throw error;
  }
}

/** Rolls back the transaction that failed because of `cause`. */
export function rollBack(connection: Pick<Connection, 'exec'>, cause: unknown): void {
  try {
    connection.exec('ROLLBACK');
  } catch (error) {
    // SQLite rolls back a transaction itself after some faults (disk full, I/O), so there may be none to roll back.
    if (!(error instanceof Error) || !error.message.includes('no transaction is active'))
      throw new AggregateError([cause, error], 'a batch failed and could not be rolled back');
  }
}

/** Migrates the file to the latest schema. Each migration is one transaction, which also sets the schema version. */
export function migrate(database: DatabaseSync, file: string, migrations: readonly string[] = MIGRATIONS): void {
  const version = pragma(database, 'user_version');
  if (pragma(database, 'application_id') !== APPLICATION_ID) {
    const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get();
    if (version !== 0 || tables?.tables !== 0)
      throw new StoreOpenError('not-a-store', `${file} is a database of another program. Choose another data directory.`);
  }
  if (version > migrations.length)
    throw new StoreOpenError(
      'newer-schema',
      `${file} was written by a newer version of Everstep (schema ${version}; this version supports ${migrations.length}). ` +
        'Start the newer version, or restore a backup made before the upgrade.',
    );
  const versionPragmas = (version: number) => `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version}`;
  const isNew = version === 0 && migrations === MIGRATIONS;
  if (isNew && latestSchema !== null) {
    const schema = latestSchema;
    transact(database, () => database.exec(`${schema};${versionPragmas(migrations.length)}`));
    return;
  }
  for (const [index, sql] of migrations.entries()) {
    if (index < version) continue;
    transact(database, () => {
      database.exec(sql);
      database.exec(versionPragmas(index + 1));
    });
  }
  if (isNew) latestSchema = schemaOf(database);
}

/**
 * Schema of the first new database of this process after all migrations. Later databases are created with it directly, which takes a
 * fifth of the time; tests open hundreds of stores.
 */
let latestSchema: string | null = null;

/** Returns the SQL of the schema, or null if the database also has rows that a migration inserted. */
function schemaOf(database: DatabaseSync): string | null {
  const entries = database.prepare(
    `SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid`,
  );
  const statements: string[] = [];
  for (const { type, name, sql } of entries.all()) {
    if (type === 'table' && countOf(database.prepare(`SELECT count(*) AS rows FROM "${name}"`)) > 0) return null;
    statements.push(String(sql));
  }
  return statements.join(';\n');
}

/** Converts an error from opening `file` into one for the operator. */
export function toOpenError(error: unknown, file: string): unknown {
  switch (resultCode(error)) {
    case SQLITE_BUSY:
      return new StoreOpenError(
        'in-use',
        `${file} is in use by another process: only one server at a time can use a data directory. ` +
          'Stop the other server, or choose another data directory.',
        error,
      );
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return new StoreOpenError('not-a-store', `${file} is not a database, or it is damaged.`, error);
    case SQLITE_FULL:
      return storeErrorOf(error);
    default:
      return error;
  }
}

/**
 * A file of an early version does not record where its pages belong, so free pages cannot be released. It is rewritten once, which
 * temporarily needs as much space again. If that fails, the file stays unchanged until the next start.
 */
function trackFreePages(database: DatabaseSync): void {
  if (pragma(database, 'auto_vacuum') === AUTO_VACUUM_INCREMENTAL) return;
  try {
    database.exec(`PRAGMA auto_vacuum = INCREMENTAL; VACUUM`);
  } catch (error) {
    if (resultCode(error) !== SQLITE_FULL) throw error;
  }
}

/**
 * Throws StoreOpenError unless the loss is accepted. Then copies the files of the store, which no process may have open, before
 * anything is written to them.
 */
function requireAcceptedLoss(file: string, loss: string, { acceptLoss, onNotice }: ConnectionOptions): void {
  if (!acceptLoss) throw new StoreOpenError('damaged', loss);
  const keptIn = copyDamagedFiles(file);
  onNotice?.({ event: 'opened a damaged store because --accept-loss is set', fields: { file, loss, keptIn } });
}

/** Opens the file and takes its lock. Throws StoreOpenError if another process holds the lock or the file is not a database. */
function openLocked(file: string): DatabaseSync {
  const isNew = file === IN_MEMORY || !hasContent(file);
  const database = new DatabaseSync(file);
  try {
    // Setting auto_vacuum writes to the file, which must be possible to open on a full disk. `trackFreePages` converts old files.
    // NORMAL instead of FULL, because LogSync syncs the log after a commit.
    // The exclusive mode is set before the first access, which takes the lock. The lock is held until the connection is closed, and
    // the operating system releases it when the process dies. In this mode, the index of the log is in ordinary memory.
    database.exec(`
      PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS};
      PRAGMA page_size = ${PAGE_BYTES};
      PRAGMA locking_mode = EXCLUSIVE;
      ${isNew ? 'PRAGMA auto_vacuum = INCREMENTAL;' : ''}
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      PRAGMA cache_size = -${PAGE_CACHE_KIB};
      PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
      PRAGMA journal_size_limit = ${KEPT_LOG_BYTES};
    `);
    return database;
  } catch (error) {
    database.close();
    throw toOpenError(error, file);
  }
}

interface CheckedDatabase {
  readonly database: DatabaseSync;
  /** Whether the database has lost commits and the loss was accepted. */
  readonly isLossAccepted: boolean;
}

/** Opens a file that has lost nothing acknowledged, or whose loss is accepted. */
function openChecked(file: string, options: ConnectionOptions): CheckedDatabase {
  const { companionFiles = [], acceptLoss = false, onNotice } = options;
  const loss = findLoss(file, companionFiles);
  if (loss !== null) requireAcceptedLoss(file, loss, options);
  createPrivately(file);
  const database = openLocked(file);
  if (loss !== null) return { database, isLossAccepted: true };
  let lossAfterOpening: string | null;
  try {
    // Where files cannot be read before they are locked, the loss is detected only now.
    lossAfterOpening = describeLoss(database, file, companionFiles);
    if (lossAfterOpening === null) for (const doubt of doubtsOf(database, file)) onNotice?.(doubt);
  } catch (error) {
    database.close();
    throw toOpenError(error, file);
  }
  if (lossAfterOpening === null) {
    if (acceptLoss) onNotice?.({ event: 'store has no known loss, remove --accept-loss', fields: { file } });
    return { database, isLossAccepted: false };
  }
  database.close();
  requireAcceptedLoss(file, lossAfterOpening, options);
  return { database: openLocked(file), isLossAccepted: true };
}

/**
 * Opens a store file. Throws StoreOpenError if the file is in use, was written by a newer version or is not a store, or if it has
 * lost commits that were on the disk and the loss is not accepted.
 */
export function openConnection(file: string, options: ConnectionOptions = {}): Connection {
  const { onSync, onDiskFailure, onNotice } = options;
  const isInMemory = file === IN_MEMORY;
  const { database, isLossAccepted } = isInMemory
    ? { database: openLocked(file), isLossAccepted: false }
    : openChecked(file, options);
  let storeId: string;
  try {
    migrate(database, file);
    trackFreePages(database);
    storeId = ensureStoreId(database);
    if (isLossAccepted) resetMark(file, storeId);
    database.exec('PRAGMA temp_store = MEMORY');
  } catch (error) {
    database.close();
    throw toOpenError(error, file);
  }
  // A reader may have left this file behind before the lock was taken. The process that holds the lock does not need it.
  if (!isInMemory) rmSync(`${file}-shm`, { force: true });
  const commitCount = new CommitCount(database);
  const statements: string[] = [];
  const freePages = database.prepare('PRAGMA freelist_count');
  const mark = new DurableMark(file, storeId, ({ message: error }) =>
    onNotice?.({ event: 'could not write the durable mark, lost commits may go undetected', fields: { file, error } }),
  );
  const logOptions = { databaseFile: file, commits: () => commitCount.current, mark, onSync, onFailure: onDiskFailure };
  const log = isInMemory ? null : new LogSync(logOptions);
  let isOpen = true;
  return {
    statements,
    prepare(sql) {
      statements.push(sql);
      return database.prepare(sql);
    },
    exec: (sql) => database.exec(sql),
    countCommit: (sums) => commitCount.add(sums),
    releaseSpace() {
      const before = countOf(freePages);
      if (before === 0) return false;
      database.exec(`PRAGMA incremental_vacuum(${PAGES_RELEASED})`);
      const remaining = countOf(freePages);
      // A file that does not record where its pages belong keeps its free pages.
      return remaining > 0 && remaining < before;
    },
    copyTo: (request) => copyOnline(database, request),
    waitUntilDurable: (isAlone) => log?.waitUntilDurable(isAlone) ?? Promise.resolve(),
    onSyncFailure: (error) => log?.recordFailure(error),
    async close() {
      if (!isOpen) return;
      isOpen = false;
      await log?.close();
      database.close();
    },
  };
}
