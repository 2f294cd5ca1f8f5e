/**
 * The durable mark: a small file beside the database that records how many commits are on the disk.
 *
 * SQLite treats a log that ends early as one whose end was never written, so a damaged or missing log looks like an older store.
 * The database counts its commits, and this file contains the count that was last durable. A database with fewer commits has lost
 * some of them.
 *
 * The mark is written after the sync of the log, so it never exceeds what is on the disk, in whatever order the disk writes. It is
 * written in place and without waiting for the disk: a killed process leaves it exact, and a power failure leaves it at most about
 * one second old. See docs/decisions/0002-embedded-store.md.
 * Keeps invariant 1.
 */
import { closeSync, fsync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

const SYNC_AFTER_MS = 1000;
const OWNER_ONLY = 0o600;
const COUNT_DIGITS = 16;
const MARK_BYTES = 55;
const PATTERN = /^(everstep-mark-1 ([0-9a-f]{12}) (\d{16})) ([0-9a-f]{8})\n$/;

export interface MarkedStore {
  /** Random id, which the database also contains. It distinguishes a store from another one that replaced it. */
  readonly storeId: string;
  /** Number of commits that are known to be on the disk; there may be more. */
  readonly commits: number;
}

export type MarkState = { readonly kind: 'none' | 'damaged' } | ({ readonly kind: 'found' } & MarkedStore);

/** Returns the path of the mark of a database. */
export const markFile = (databaseFile: string): string => `${databaseFile}-mark`;

const checksumOf = (text: string): string => crc32(text).toString(16).padStart(8, '0');

function textOf({ storeId, commits }: MarkedStore): string {
  const text = `everstep-mark-1 ${storeId} ${String(commits).padStart(COUNT_DIGITS, '0')}`;
  return `${text} ${checksumOf(text)}\n`;
}

export function readMark(databaseFile: string): MarkState {
  let text: string;
  try {
    text = readFileSync(markFile(databaseFile), 'latin1');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { kind: 'none' };
    throw error;
  }
  // `open` created the file, and the process was killed before its first commit.
  if (text === '\0'.repeat(MARK_BYTES)) return { kind: 'none' };
  const [, content = '', storeId = '', commits = '', checksum] = PATTERN.exec(text) ?? [];
  if (checksum === undefined || checksum !== checksumOf(content)) return { kind: 'damaged' };
  return { kind: 'found', storeId, commits: Number(commits) };
}

export class DurableMark {
  private readonly file: string;
  private readonly storeId: string;
  private readonly onFailure: (error: Error) => void;
  private descriptor: number | null = null;
  private timer: NodeJS.Timeout | null = null;
  private isSyncing = false;
  /** Whether the mark was written during a sync, which may not include that write. */
  private wasWrittenDuringSync = false;
  private isClosed = false;
  private hasFailed = false;

  /** `onFailure` is called once if the mark cannot be written. A later loss may then go undetected. */
  constructor(databaseFile: string, storeId: string, onFailure: (error: Error) => void) {
    this.file = markFile(databaseFile);
    this.storeId = storeId;
    this.onFailure = onFailure;
  }

  /** Ensures that the file exists; its name is on the disk once its directory is synced. Never throws. */
  open(): void {
    try {
      this.descriptor ??= openToOverwrite(this.file);
      // A damaged mark may be longer.
      ftruncateSync(this.descriptor, MARK_BYTES);
    } catch (error) {
      this.reportFailure(error);
    }
  }

  /** Records that this many commits are on the disk, which must be true. Never throws. */
  write(commits: number): void {
    if (this.descriptor === null) return;
    try {
      writeSync(this.descriptor, textOf({ storeId: this.storeId, commits }), 0, 'latin1');
      this.syncSoon();
    } catch (error) {
      this.reportFailure(error);
    }
  }

  close(): void {
    this.isClosed = true;
    if (this.timer) clearTimeout(this.timer);
    if (!this.isSyncing) this.release();
  }

  private syncSoon(): void {
    this.wasWrittenDuringSync = this.isSyncing;
    if (this.timer || this.isSyncing) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      if (this.descriptor === null) return;
      this.isSyncing = true;
      fsync(this.descriptor, (error) => {
        this.isSyncing = false;
        if (error) this.reportFailure(error);
        if (this.isClosed) this.release();
        else if (this.wasWrittenDuringSync) this.syncSoon();
      });
    }, SYNC_AFTER_MS);
    this.timer.unref();
  }

  private release(): void {
    if (this.descriptor !== null) closeSync(this.descriptor);
    this.descriptor = null;
  }

  private reportFailure(error: unknown): void {
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.onFailure(error instanceof Error ? error : new Error(String(error)));
  }
}

function openToOverwrite(file: string): number {
  try {
    return openSync(file, 'r+');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    return openSync(file, 'wx+', OWNER_ONLY);
  }
}

/** Discards the content of the mark, for a store that continues with the remaining commits. Throws if the write fails. */
export function resetMark(databaseFile: string, storeId: string): void {
  const mark = openToOverwrite(markFile(databaseFile));
  try {
    writeSync(mark, textOf({ storeId, commits: 0 }), 0, 'latin1');
    fsyncSync(mark);
  } finally {
    closeSync(mark);
  }
}
