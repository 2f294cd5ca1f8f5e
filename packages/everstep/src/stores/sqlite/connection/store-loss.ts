/**
 * Detects whether a store has lost commits that were on the disk, before anything is written.
 *
 * The database is read as SQLite recovers it, and its number of commits is compared with the durable mark. The log itself is read
 * only to describe its damage: frames after a broken one do not prove a loss, because a power failure can leave frames that were
 * never durable without those before them.
 * Keeps invariant 1.
 */
import { closeSync, constants, copyFileSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { readCounts } from './commit-count.js';
import { markFile, readMark } from './durable-mark.js';
import { readLog } from './log-reader.js';

const OWNER_ONLY = 0o700;

/** Opens a file that no process writes. Creates no file beside it, so the file may be on a read-only medium. */
export function openImmutable(file: string): DatabaseSync {
  const url = pathToFileURL(file);
  url.searchParams.set('immutable', '1');
  return new DatabaseSync(url.href, { readOnly: true });
}

const ADVICE =
  'Restore a backup, or start with --accept-loss to continue with what is left; ' +
  'see "Damaged files" in docs/operations/durability.md.';

/** An event for the operator; `fields` contain the details. */
export interface StoreNotice {
  readonly event: string;
  readonly fields: Readonly<Record<string, string | number>>;
}

export const logFile = (file: string): string => `${file}-wal`;

export const hasContent = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

/** Returns one sentence about the log of a store that has lost commits. */
function describeLogDamage(file: string): string {
  const name = basename(logFile(file));
  const log = readLog(logFile(file));
  if (!log) return `Its log ${name} is missing: the log was removed, or the database is an older copy.`;
  if (!log.isHeaderValid) return `The header of its log ${name} is damaged.`;
  if (log.framesBehind === 0) return `Its log ${name} ends after frame ${log.frames}, or the database is an older copy.`;
  return `Its log ${name} is damaged in frame ${log.frames + 1}; ${log.framesBehind} valid frames follow.`;
}

/** Returns the mark if it was ever written. A power failure during the first commit can leave one that only exists. */
const writtenMark = (file: string): readonly string[] => (readMark(file).kind === 'none' ? [] : [markFile(file)]);

/** Describes the loss of a whole database; null if none of `otherFiles`, which only a used store has, has content. */
function describeDatabaseLoss(file: string, state: 'missing' | 'empty', otherFiles: readonly string[]): string | null {
  const otherFile = otherFiles.find(hasContent);
  if (otherFile === undefined) return null;
  return (
    `${file} is ${state}, but ${otherFile} shows that there was a store. ` +
    `For a new store, choose an empty data directory. ${ADVICE}`
  );
}

/**
 * Describes the loss of an open database, in sentences for the operator; null if nothing is known to be lost. `companionFiles` are
 * files or directories that exist only beside a store that was in use.
 */
export function describeLoss(database: DatabaseSync, file: string, companionFiles: readonly string[] = []): string | null {
  const counts = readCounts(database);
  const mark = readMark(file);
  if (mark.kind === 'found' && (counts.storeId ?? mark.storeId) === mark.storeId && counts.commits < mark.commits)
    return (
      `${file} has lost acknowledged changes: ${mark.commits} commits were on the disk, ${counts.commits} are left. ` +
      `${describeLogDamage(file)} ${ADVICE}`
    );
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
  if (!isEmpty) return null;
  const log = readLog(logFile(file));
  // A process that is killed while it creates its store leaves a sound log without tables.
  const isSound = log === null || (log.isHeaderValid && log.framesBehind === 0);
  return describeDatabaseLoss(file, 'empty', [...writtenMark(file), ...(isSound ? [] : [logFile(file)]), ...companionFiles]);
}

/** Returns irregularities in the files of an open database that do not prove a loss. */
export function doubtsOf(database: DatabaseSync, file: string): readonly StoreNotice[] {
  const doubts: StoreNotice[] = [];
  const { storeId } = readCounts(database);
  const mark = readMark(file);
  if (mark.kind === 'damaged')
    doubts.push({ event: 'durable mark is damaged, lost commits cannot be detected', fields: { file } });
  if (mark.kind === 'found' && storeId !== null && mark.storeId !== storeId)
    doubts.push({ event: 'durable mark belongs to another store, lost commits cannot be detected', fields: { file } });
  const log = readLog(logFile(file));
  if (log && log.commitsBehind > 0) {
    const { frames, framesBehind, commitsBehind } = log;
    doubts.push({
      event: 'write-ahead log has commits after a damaged frame',
      fields: { file, frames, framesBehind, commitsBehind },
    });
  }
  return doubts;
}

/** Opens a connection that leaves the files unchanged; SQLite only adds its `-shm` file beside a log. */
export function openToRead(file: string): DatabaseSync {
  // A connection that can write would delete the log when it is closed.
  if (hasContent(logFile(file))) return new DatabaseSync(file, { readOnly: true });
  if (hasContent(`${file}-journal`))
    throw new Error('an unfinished transaction must be rolled back first, which needs write access');
  return openImmutable(file);
}

/**
 * Like `describeLoss`, for files that no process has open. Changes nothing. Also returns null if the database cannot be read this
 * way; the loss is then detected when the database is opened.
 */
export function findLoss(file: string, companionFiles: readonly string[] = []): string | null {
  // SQLite treats an empty database as a new one, and deletes its log.
  if (!hasContent(file)) {
    const otherFiles = [...writtenMark(file), logFile(file), ...companionFiles];
    return describeDatabaseLoss(file, existsSync(file) ? 'empty' : 'missing', otherFiles);
  }
  let database: DatabaseSync | null = null;
  try {
    database = openToRead(file);
    return describeLoss(database, file, companionFiles);
  } catch {
    return null;
  } finally {
    database?.close();
  }
}

function copyDurably(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  const copy = openSync(to, 'r+');
  try {
    fsyncSync(copy);
  } finally {
    closeSync(copy);
  }
}

/** Copies the files of a store into a directory beside them, named with the time, and returns the directory. */
export function copyDamagedFiles(file: string): string {
  const directory = `${file}.damaged-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  mkdirSync(directory, { mode: OWNER_ONLY });
  for (const path of [file, logFile(file), markFile(file)])
    if (existsSync(path)) copyDurably(path, join(directory, basename(path)));
  return directory;
}
