/**
 * Errors of SQLite that mean that the store temporarily rejects writes, by their result codes
 * (https://www.sqlite.org/rescode.html). `errcode` of node:sqlite is the extended code; its low byte is the primary one.
 *
 * - SQLITE_FULL: the disk or the quota is full. SQLite has rolled the transaction back.
 * - SQLITE_IOERR with its extended codes, such as SQLITE_IOERR_WRITE: the disk failed. SQLite has also rolled the transaction back.
 * - SQLITE_READONLY: the file system was remounted read-only, or permissions were changed.
 * - SQLITE_NOMEM, SQLITE_CANTOPEN (no file descriptor is left for the log): the machine lacks a resource.
 *
 * Other errors are faults of one write or require a person, such as SQLITE_CORRUPT: waiting does not help.
 */
import { StoreRefusesWritesError } from '../../../ports/stores/store-unavailable.js';

const REASONS: ReadonlyMap<number, string> = new Map([
  [7, 'out of memory'],
  [8, 'read-only'],
  [10, 'I/O error'],
  [13, 'disk full'],
  [14, 'a file cannot be opened'],
]);
const SQLITE_IOERR_FSYNC = 1034;
const SQLITE_IOERR_DIR_FSYNC = 1290;

function extendedCode(error: unknown): number | null {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : null;
}

/** Returns the primary result code of an error of SQLite; null for other errors. */
export function resultCode(error: unknown): number | null {
  const code = extendedCode(error);
  return code === null ? null : code & 0xff;
}

/**
 * Converts an error of SQLite into the error with which a write rejects. After a failed sync by SQLite itself, the state on the
 * disk is unknown: `onSyncFailure` is called, as for the syncs that the store makes.
 */
export function storeErrorOf(error: unknown, { onSyncFailure }: { onSyncFailure?(error: Error): void } = {}): unknown {
  const code = extendedCode(error);
  if (code === null || !(error instanceof Error)) return error;
  if (code === SQLITE_IOERR_FSYNC || code === SQLITE_IOERR_DIR_FSYNC) {
    onSyncFailure?.(error);
    return error;
  }
  const reason = REASONS.get(code & 0xff);
  return reason === undefined ? error : new StoreRefusesWritesError(reason, { cause: error });
}
