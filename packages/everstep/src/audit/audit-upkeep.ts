/**
 * Background work on the audit log: adds entries to the hash chain, removes entries older than the retention period, and
 * pushes new entries to the operator's webhook.
 */
import { LIMITS } from '../config/limits.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { AuditStore } from '../ports/stores/audit-store.js';
import { ALWAYS_OPEN, type StoreWritesState } from '../ports/stores/store-writes.js';
import { ThrottledLog } from '../ports/throttled-log.js';
import type { AuditPush } from './audit-push.js';

/** Interval for chaining entries in the background: the maximum time for which an entry has no hash. */
const SEAL_EVERY_MS = 1_000;
const SEAL_BATCH_SIZE = 1_000;
const REMOVE_EVERY_MS = 3_600_000;
const REMOVAL_BATCH_SIZE = 200;
/** Pause between two batches, so that other work can run. */
const PAUSE_MS = 20;

export interface AuditUpkeepOptions {
  readonly audit: Pick<AuditStore, 'seal' | 'removeBefore'>;
  /** Returns the time of the server clock, Unix ms. */
  readonly now: () => number;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the store accepts writes. While it does not, no work is done. Default: always. */
  readonly writes?: StoreWritesState;
  /** Retention of entries; null keeps them forever. */
  readonly retentionMs: number | null;
  /** Pushes new entries; null if entries are not pushed. */
  readonly push: AuditPush | null;
  /** Whether several processes use the store. One of them then chains entries shortly after they were added. */
  readonly isShared: boolean;
}

export class AuditUpkeep {
  private readonly options: AuditUpkeepOptions;
  private readonly failureLog: ThrottledLog;
  private readonly cancelTimers = new Map<string, () => void>();
  private readonly workInProgress = new Set<Promise<void>>();
  private isStopped = false;

  constructor(options: AuditUpkeepOptions) {
    this.options = options;
    this.failureLog = new ThrottledLog(options.log, 'audit log maintenance failed, retrying');
  }

  /** Starts all work now and repeats it regularly. */
  start(): void {
    const { isShared, push } = this.options;
    this.repeat('seal', () => this.seal(), isShared ? SEAL_EVERY_MS : null);
    this.repeat('remove', () => this.remove(), REMOVE_EVERY_MS);
    if (push) this.repeat('push', () => push.pushNew(), LIMITS.auditPushEveryMs);
  }

  /** Resolves when no work is in progress. */
  async stop(): Promise<void> {
    this.isStopped = true;
    for (const cancel of this.cancelTimers.values()) cancel();
    this.options.push?.stop();
    await Promise.allSettled([...this.workInProgress]);
  }

  /** Resolves when the work in progress has ended. */
  async waitForWork(): Promise<void> {
    await Promise.allSettled([...this.workInProgress]);
  }

  /** Repeats work. If `everyMs` is null, it runs once, and again only after a failure. */
  private repeat(task: string, work: () => Promise<void>, everyMs: number | null): void {
    if (this.isStopped) return;
    const { clock, writes = ALWAYS_OPEN } = this.options;
    const repeatAfter = (delayMs: number) => {
      // A new timer would keep the process alive.
      if (this.isStopped) return;
      const cancel = clock.setTimer(clock.now() + delayMs, () => this.repeat(task, work, everyMs));
      this.cancelTimers.set(task, cancel);
    };
    const run: Promise<void> = (writes.isOpen ? work() : Promise.resolve())
      .then(
        () => {
          if (everyMs !== null || !writes.isOpen) repeatAfter(everyMs ?? SEAL_EVERY_MS);
        },
        (error: unknown) => {
          const retryAfterMs = Math.max(everyMs ?? 0, SEAL_EVERY_MS);
          if (!writes.reportFailure(error)) this.failureLog.warn({ task, error: String(error), retryAfterMs });
          repeatAfter(retryAfterMs);
        },
      )
      .finally(() => this.workInProgress.delete(run));
    this.workInProgress.add(run);
  }

  private async seal(): Promise<void> {
    const { audit } = this.options;
    while (!this.isStopped && (await audit.seal({ limit: SEAL_BATCH_SIZE })) === SEAL_BATCH_SIZE) await this.pause();
  }

  private async remove(): Promise<void> {
    const { audit, now, retentionMs, log } = this.options;
    if (retentionMs === null) return;
    const before = now() - retentionMs;
    let removedCount = 0;
    for (let count = 1; count > 0 && !this.isStopped; removedCount += count) {
      count = await audit.removeBefore({ before, limit: REMOVAL_BATCH_SIZE });
      if (count > 0) await this.pause();
    }
    if (removedCount > 0) log.info({ entries: removedCount }, 'removed audit log entries past their retention period');
  }

  private pause(): Promise<void> {
    const { clock } = this.options;
    return new Promise((resolve) => {
      clock.setTimer(clock.now() + PAUSE_MS, resolve);
    });
  }
}
