/**
 * Makes the write-ahead log durable without holding up the event loop.
 *
 * SQLite with `synchronous=FULL` calls fdatasync on the log at the end of
 * every commit, on the calling thread, which then stands still. We leave that
 * one call out (`NORMAL`: SQLite still syncs around checkpoints, so the file
 * stays sound) and make it ourselves, on another thread, before anything is
 * acknowledged. What is committed while one call is under way shares the
 * next. See docs/decisions/0002-embedded-store.md.
 */
import { closeSync, fdatasync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class LogSync {
  private readonly file: string;
  private readonly onFailure: (error: Error) => void;
  private descriptor: number | null = null;
  private waiting: Waiter[] = [];
  private syncing = false;
  /** After a failed sync nobody knows what is on the disk: nothing is acknowledged any more. */
  private broken: Error | null = null;
  private whenIdle: (() => void) | null = null;

  /** `databaseFile` names the database; its log lies beside it. `onFailure` is told once, when a sync failed. */
  constructor(databaseFile: string, onFailure: (error: Error) => void = () => {}) {
    this.file = databaseFile;
    this.onFailure = onFailure;
  }

  /** Resolves when everything that was committed before this call is on the disk. */
  reached(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      if (!this.syncing) this.sync();
    });
  }

  /** Resolves when no sync is under way; then lets the log go. */
  async close(): Promise<void> {
    if (this.syncing) {
      await new Promise<void>((resolve) => {
        this.whenIdle = resolve;
      });
    }
    if (this.descriptor !== null) closeSync(this.descriptor);
    this.descriptor = null;
  }

  private sync(): void {
    const waiters = this.waiting;
    this.waiting = [];
    this.syncing = true;
    const done = (error: Error | null): void => {
      if (error && !this.broken) {
        this.broken = new Error(`the store's log could not be synced to the disk: ${error.message}`, { cause: error });
        this.onFailure(this.broken);
      }
      for (const waiter of waiters) {
        if (this.broken) waiter.reject(this.broken);
        else waiter.resolve();
      }
      this.syncing = false;
      if (this.waiting.length > 0) this.sync();
      else this.whenIdle?.();
    };
    if (this.broken) {
      queueMicrotask(() => done(null));
      return;
    }
    try {
      fdatasync(this.open(), done);
    } catch (error) {
      queueMicrotask(() => done(error instanceof Error ? error : new Error(String(error))));
    }
  }

  private open(): number {
    if (this.descriptor !== null) return this.descriptor;
    this.descriptor = openSync(`${this.file}-wal`, 'r+');
    // The log's name has to be on the disk as well as what is in it.
    if (process.platform !== 'win32') {
      const directory = openSync(dirname(this.file), 'r');
      fsyncSync(directory);
      closeSync(directory);
    }
    return this.descriptor;
  }
}
