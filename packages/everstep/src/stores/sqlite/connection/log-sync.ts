/**
 * Makes the write-ahead log durable without blocking the event loop.
 *
 * With `synchronous=FULL`, SQLite calls fdatasync on the log at the end of every commit, on the calling thread, which blocks. This
 * store omits that call (`NORMAL`: SQLite still syncs around checkpoints, so the file stays consistent) and calls fdatasync
 * on another thread, before anything is acknowledged. Commits that occur during one call share the next one. See
 * docs/decisions/0002-embedded-store.md.
 */
import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DurableMark } from './durable-mark.js';
import { logFile } from './store-loss.js';

/** On a disk this fast, a sync that only one run waits for blocks the event loop: two thread switches would take longer. */
const FAST_SYNC_MS = 0.5;
const WEIGHT_OF_LATEST = 0.2;

export interface LogSyncOptions {
  /** Path of the database; its log is beside it. */
  readonly databaseFile: string;
  /** Returns the number of commits so far. */
  readonly commits: () => number;
  /** Mark that records how many commits are on the disk. */
  readonly mark: DurableMark;
  /** Called after each successful sync. */
  readonly onSync?: ((durationMs: number) => void) | undefined;
  /** Called once when a sync has failed. */
  readonly onFailure: ((error: Error) => void) | undefined;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class LogSync {
  private readonly options: LogSyncOptions;
  private descriptor: number | null = null;
  private nextWaiters: Waiter[] = [];
  private isSyncing = false;
  /** The error of a failed sync. The state on the disk is then unknown, and nothing is acknowledged. */
  private syncError: Error | null = null;
  /** Moving average of recent sync durations. */
  private averageMs = Number.POSITIVE_INFINITY;
  private onIdle: (() => void) | null = null;

  constructor(options: LogSyncOptions) {
    this.options = options;
  }

  /**
   * Resolves when everything that was committed before this call is on the disk. If `isAlone` is true, nothing else is in
   * progress, so the event loop may block for a moment.
   */
  waitUntilDurable(isAlone = false): Promise<void> {
    return new Promise((resolve, reject) => {
      this.nextWaiters.push({ resolve, reject });
      if (!this.isSyncing) this.sync(isAlone && this.averageMs < FAST_SYNC_MS);
    });
  }

  /** Records a failed sync: the state on the disk is unknown from then on. */
  recordFailure(error: Error): void {
    if (this.syncError) return;
    this.syncError = new Error(`the store's log could not be synced to the disk: ${error.message}`, { cause: error });
    this.options.onFailure?.(this.syncError);
  }

  /** Waits until no sync is in progress, and closes the log. */
  async close(): Promise<void> {
    if (this.isSyncing) {
      await new Promise<void>((resolve) => {
        this.onIdle = resolve;
      });
    }
    if (this.descriptor !== null) closeSync(this.descriptor);
    this.descriptor = null;
    this.options.mark.close();
  }

  private sync(isBlocking: boolean): void {
    const waiters = this.nextWaiters;
    this.nextWaiters = [];
    this.isSyncing = true;
    const startedAt = performance.now();
    let commits = 0;
    const handleResult = (error: Error | null): void => {
      const durationMs = performance.now() - startedAt;
      const previousMs = Number.isFinite(this.averageMs) ? this.averageMs : durationMs;
      this.averageMs = previousMs + WEIGHT_OF_LATEST * (durationMs - previousMs);
      if (error) this.recordFailure(error);
      else if (!this.syncError) this.options.onSync?.(durationMs);
      // The mark is written before the acknowledgements, so that a killed process has no acknowledged commit beyond it.
      if (!this.syncError) this.options.mark.write(commits);
      for (const waiter of waiters) {
        if (this.syncError) waiter.reject(this.syncError);
        else waiter.resolve();
      }
      this.isSyncing = false;
      if (this.nextWaiters.length > 0) this.sync(false);
      else this.onIdle?.();
    };
    if (this.syncError) {
      queueMicrotask(() => handleResult(null));
      return;
    }
    try {
      commits = this.options.commits();
      if (isBlocking) {
        fdatasyncSync(this.open());
        handleResult(null);
      } else fdatasync(this.open(), handleResult);
    } catch (error) {
      queueMicrotask(() => handleResult(error instanceof Error ? error : new Error(String(error))));
    }
  }

  private open(): number {
    if (this.descriptor !== null) return this.descriptor;
    const { databaseFile, mark } = this.options;
    mark.open();
    this.descriptor = openSync(logFile(databaseFile), 'r+');
    // The names of the log and the mark must be on the disk as well as their content.
    if (process.platform !== 'win32') {
      const directory = openSync(dirname(databaseFile), 'r');
      fsyncSync(directory);
      closeSync(directory);
    }
    return this.descriptor;
  }
}
