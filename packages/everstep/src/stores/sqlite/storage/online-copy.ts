/**
 * Copies an open database into another file while writes continue, with SQLite's own backup.
 *
 * The copy uses the connection that writes. SQLite also applies changes during the copy to the copied pages, so the copy does not
 * restart after each change, and finally contains the database as of the moment when it completes. Between two pieces, everything
 * else continues.
 */
import { closeSync, fdatasync, openSync } from 'node:fs';
import { backup, type DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface CopyPace {
  /** Pages copied at a time, during which the connection is busy. A page has 2 KiB, or 4 KiB in files of earlier versions. */
  readonly pages: number;
  /** Interval between pieces. */
  readonly intervalMs: number;
}
/**
 * At most 32 MiB per second, or 64 MiB with the larger pages. A copy as fast as the disk would leave no time for the log, and
 * commits would wait for hundreds of milliseconds. Node always starts a piece in the turn after the last one. A turn shorter than
 * the interval is therefore extended, so that a piece is copied at most every two milliseconds. Turns with other work are not
 * extended.
 */
const CONCURRENT_PACE: CopyPace = { pages: 32, intervalMs: 2 };
/** Pace for a database that nothing else uses. */
export const FULL_PACE: CopyPace = { pages: 4096, intervalMs: 0 };

/**
 * A piece that falls into a transaction copies nothing, and what is written in the meantime must also be copied: a busy server
 * could outrun its copy indefinitely. Of every PIECES_WATCHED pieces, at least the fraction MIN_FRACTION must make progress.
 * Otherwise the copy restarts with pieces that are GROWTH_FACTOR times larger.
 */
const PIECES_WATCHED = 500;
const MIN_FRACTION = 0.25;
const GROWTH_FACTOR = 8;

/** Thrown to end a copy that cannot keep up. */
class OutrunError extends Error {}

const OWNER_ONLY = 0o600;
/** A copy cannot start while a transaction is open, and transactions are short. */
const MAX_ATTEMPTS = 1000;

export interface CopyRequest {
  /** Path of the copy. The file must not exist, and is created readable by its owner only. */
  readonly file: string;
  /** Aborts the copy, which then rejects and leaves a file that must be removed. */
  readonly signal?: AbortSignal;
}

function openNew(file: string): number {
  try {
    return openSync(file, 'wx+', OWNER_ONLY);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw new Error(`${file} already exists: a copy is written to a new file`, { cause: error });
  }
}

/**
 * Syncs the copy to the disk while it is in progress. Otherwise all of it would be synced at its end, during which SQLite holds the
 * connection.
 */
class CopySync {
  private readonly descriptor: number;
  private isSyncing = false;
  private isClosed = false;

  constructor(file: string) {
    this.descriptor = openNew(file);
  }

  /** Starts to sync what was copied so far, unless a sync is in progress. */
  syncSome(): void {
    if (this.isSyncing || this.isClosed) return;
    this.isSyncing = true;
    // An error here can be ignored: SQLite finally syncs the copy itself.
    fdatasync(this.descriptor, () => {
      this.isSyncing = false;
      if (this.isClosed) closeSync(this.descriptor);
    });
  }

  close(): void {
    this.isClosed = true;
    if (!this.isSyncing) closeSync(this.descriptor);
  }
}

const neverNotified = new Int32Array(new SharedArrayBuffer(4));
/** Blocks the thread without using the CPU. */
const blockThread = (durationMs: number): void => void Atomics.wait(neverNotified, 0, 0, durationMs);

/** Returns a function that checks whether the copy makes progress; `remaining` is in pages. */
function watchProgress({ pages }: CopyPace): (remaining: number) => boolean {
  let pieces = 0;
  let previousRemaining: number | null = null;
  return (remaining) => {
    previousRemaining ??= remaining;
    if (++pieces % PIECES_WATCHED !== 0) return true;
    const copiedPages = previousRemaining - remaining;
    previousRemaining = remaining;
    return copiedPages >= pages * PIECES_WATCHED * MIN_FRACTION;
  };
}

/** Copies the database. Resolves when the copy is complete and on the disk. */
export async function copyOnline(
  database: DatabaseSync,
  { file, signal }: CopyRequest,
  firstPace: CopyPace = CONCURRENT_PACE,
): Promise<void> {
  signal?.throwIfAborted();
  const copySync = new CopySync(file);
  let pace = firstPace;
  try {
    for (let attempts = 1; ; attempts++) {
      let stopReason: unknown = null;
      let hasStarted = false;
      let nextPieceAt = 0;
      const isProgressing = watchProgress(pace);
      const progress = ({ remainingPages }: { readonly remainingPages: number }): void => {
        hasStarted = true;
        if (signal?.aborted) stopReason = signal.reason;
        else if (!isProgressing(remainingPages) && pace.pages < FULL_PACE.pages) stopReason = new OutrunError();
        if (stopReason) throw stopReason;
        copySync.syncSome();
        const earlyMs = nextPieceAt - performance.now();
        if (earlyMs > 0) blockThread(earlyMs);
        nextPieceAt = performance.now() + pace.intervalMs;
      };
      try {
        await backup(database, file, { rate: pace.pages, progress });
        return;
      } catch (error) {
        signal?.throwIfAborted();
        if (stopReason instanceof OutrunError) pace = { ...pace, pages: Math.min(pace.pages * GROWTH_FACTOR, FULL_PACE.pages) };
        // The first piece fell into a transaction: Node then gives up with an error without a cause (code 0).
        else if (hasStarted || attempts >= MAX_ATTEMPTS || !isTransactionOpenError(error)) throw error;
        await nextTurn();
      }
    }
  } finally {
    copySync.close();
  }
}

const isTransactionOpenError = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && (error.errcode === 0 || error.errcode === 5);
