/**
 * Keeps the audit log in the background: adds entries to its hash chain, removes those that are older than the retention, and
 * pushes what is new to the webhook of the operator.
 */
import { LIMITS } from '../config/limits.js';
import type { AuditStore } from '../ports/audit-store.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { PeriodicLog } from '../ports/periodic-log.js';
import { ALWAYS_OPEN, type StoreWritesState } from '../ports/store-writes.js';
import type { AuditPush } from './audit-push.js';

/** Where entries are chained in the background: how long one may be without a hash. */
const SEAL_EVERY_MS = 1_000;
const SEALED_AT_ONCE = 1_000;
const REMOVE_EVERY_MS = 3_600_000;
const REMOVED_AT_ONCE = 200;
/** So that others have their turn between two steps. */
const BETWEEN_STEPS_MS = 20;

export interface AuditUpkeepOptions {
  readonly audit: Pick<AuditStore, 'seal' | 'removeBefore'>;
  /** Unix ms on the clock of the service. */
  readonly now: () => number;
  readonly clock: Clock;
  readonly log: Log;
  /** While it is closed nothing is done; absent: it never is. */
  readonly writes?: StoreWritesState;
  /** How long entries are kept; null: forever. */
  readonly retentionMs: number | null;
  /** Null: entries are not pushed. */
  readonly push: AuditPush | null;
  /** Several processes use the store: entries are chained by one of them, a moment after they were added. */
  readonly isShared: boolean;
}

export class AuditUpkeep {
  private readonly options: AuditUpkeepOptions;
  private readonly failed: PeriodicLog;
  private readonly cancels = new Map<string, () => void>();
  private readonly underWay = new Set<Promise<void>>();
  private stopped = false;

  constructor(options: AuditUpkeepOptions) {
    this.options = options;
    this.failed = new PeriodicLog(options.log, 'audit log maintenance failed, retrying');
  }

  /** Does all of it now and again from then on; does not wait for it. */
  start(): void {
    const { isShared, push } = this.options;
    this.repeat('seal', () => this.seal(), isShared ? SEAL_EVERY_MS : null);
    this.repeat('remove', () => this.remove(), REMOVE_EVERY_MS);
    if (push) this.repeat('push', () => push.pushNew(), LIMITS.auditPushEveryMs);
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const cancel of this.cancels.values()) cancel();
    this.options.push?.stop();
    await Promise.allSettled([...this.underWay]);
  }

  /** Resolves when what is under way now is done. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.underWay]);
  }

  /** `everyMs`: null: once, and again only after a failure. */
  private repeat(what: string, work: () => Promise<void>, everyMs: number | null): void {
    if (this.stopped) return;
    const { clock, writes = ALWAYS_OPEN } = this.options;
    const again = (delayMs: number) => {
      // A timer that is set now would keep the process alive.
      if (this.stopped) return;
      const cancel = clock.setTimer(clock.now() + delayMs, () => this.repeat(what, work, everyMs));
      this.cancels.set(what, cancel);
    };
    const done: Promise<void> = (writes.isOpen ? work() : Promise.resolve())
      .then(
        () => {
          if (everyMs !== null || !writes.isOpen) again(everyMs ?? SEAL_EVERY_MS);
        },
        (error: unknown) => {
          if (!writes.failed(error)) this.failed.warn({ task: what, error: String(error) });
          again(Math.max(everyMs ?? 0, SEAL_EVERY_MS));
        },
      )
      .finally(() => this.underWay.delete(done));
    this.underWay.add(done);
  }

  private async seal(): Promise<void> {
    const { audit } = this.options;
    while (!this.stopped && (await audit.seal({ limit: SEALED_AT_ONCE })) === SEALED_AT_ONCE) await this.pause();
  }

  private async remove(): Promise<void> {
    const { audit, now, retentionMs, log } = this.options;
    if (retentionMs === null) return;
    const before = now() - retentionMs;
    let removed = 0;
    for (let count = 1; count > 0 && !this.stopped; removed += count) {
      count = await audit.removeBefore({ before, limit: REMOVED_AT_ONCE });
      if (count > 0) await this.pause();
    }
    if (removed > 0) log.info({ entries: removed }, 'removed audit log entries after their retention');
  }

  private pause(): Promise<void> {
    const { clock } = this.options;
    return new Promise((resolve) => {
      clock.setTimer(clock.now() + BETWEEN_STEPS_MS, resolve);
    });
  }
}
