/**
 * Makes the write-ahead log durable without blocking the event loop.
 *
 * With `synchronous=FULL`, SQLite calls fdatasync on the log at the end of every commit, on the calling thread, which blocks. This
 * store omits that call (`NORMAL`: SQLite still syncs around checkpoints, so the file stays consistent) and makes it itself on
 * another thread, before anything is acknowledged. Commits during one call share the next. See
 * docs/decisions/0002-embedded-store.md.
 */
import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DurableMark } from './durable-mark.js';
import { logFile } from './store-loss.js';

/** On a disk this fast, a sync that only one run waits for is made immediately: two thread switches would take longer. */
const QUICK_MS = 0.5;
const WEIGHT_OF_LATEST = 0.2;

export interface LogSyncOptions {
  /** Path of the database; its log is beside it. */
  readonly databaseFile: string;
  /** Returns the number of commits so far. */
  readonly commits: () => number;
  /** Mark that records how many commits are on the disk. */
  readonly mark: DurableMark;
  /** Is called after each successful sync. */
  readonly onSync?: ((durationMs: number) => void) | undefined;
  /** Is called once when a sync has failed. */
  readonly onFailure: ((error: Error) => void) | undefined;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class LogSync {
  private readonly options: LogSyncOptions;
  private descriptor: number | null = null;
  private waiting: Waiter[] = [];
  private syncing = false;
  /** The error of a failed sync. The state on the disk is then unknown, and nothing is acknowledged. */
  private broken: Error | null = null;
  /** Moving average of recent sync durations. */
  private usualMs = Number.POSITIVE_INFINITY;
  private whenIdle: (() => void) | null = null;

  constructor(options: LogSyncOptions) {
    this.options = options;
  }

  /**
   * Resolves when everything that was committed before this call is on the disk. `alone`: nothing else is in progress, so the event
   * loop may block for a moment.
   */
  waitUntilDurable(alone = false): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      if (!this.syncing) this.sync(alone && this.usualMs < QUICK_MS);
    });
  }

  /** Records a failed sync: the state on the disk is unknown from then on. */
  failed(error: Error): void {
    if (this.broken) return;
    this.broken = new Error(`the store's log could not be synced to the disk: ${error.message}`, { cause: error });
    this.options.onFailure?.(this.broken);
  }

  /** Resolves when no sync is in progress; then closes the log. */
  async close(): Promise<void> {
    if (this.syncing) {
      await new Promise<void>((resolve) => {
        this.whenIdle = resolve;
      });
    }
    if (this.descriptor !== null) closeSync(this.descriptor);
    this.descriptor = null;
    this.options.mark.close();
  }

  private sync(onThisThread: boolean): void {
    const waiters = this.waiting;
    this.waiting = [];
    this.syncing = true;
    const startedAt = performance.now();
    let commits = 0;
    const done = (error: Error | null): void => {
      const tookMs = performance.now() - startedAt;
      const previousMs = Number.isFinite(this.usualMs) ? this.usualMs : tookMs;
      this.usualMs = previousMs + WEIGHT_OF_LATEST * (tookMs - previousMs);
      if (error) this.failed(error);
      else if (!this.broken) this.options.onSync?.(tookMs);
      // The mark is written before the acknowledgements, so that a killed process has no acknowledged commit beyond it.
      if (!this.broken) this.options.mark.write(commits);
      for (const waiter of waiters) {
        if (this.broken) waiter.reject(this.broken);
        else waiter.resolve();
      }
      this.syncing = false;
      if (this.waiting.length > 0) this.sync(false);
      else this.whenIdle?.();
    };
    if (this.broken) {
      queueMicrotask(() => done(null));
      return;
    }
    try {
      commits = this.options.commits();
      if (onThisThread) {
        fdatasyncSync(this.open());
        done(null);
      } else fdatasync(this.open(), done);
    } catch (error) {
      queueMicrotask(() => done(error instanceof Error ? error : new Error(String(error))));
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
