/**
 * Pushes new audit log entries to the operator's webhook, in order and at least once: the position is stored after
 * the endpoint accepted a batch. Only one process pushes at a time.
 */
import { LIMITS } from '../config/limits.js';
import type { Log } from '../ports/log.js';
import type { MessageSender } from '../ports/message-sender.js';
import type { AuditStore } from '../ports/stores/audit-store.js';
import { ThrottledLog } from '../ports/throttled-log.js';
import { exportLines, NDJSON_TYPE } from './exported-entry.js';

const TIMEOUT_MS = 30_000;
/** Duration of a claim. If a process ends during a push, another process can push after this time. */
const CLAIM_MS = 2 * TIMEOUT_MS;
const MAX_RESPONSE_BYTES = 64 * 1024;
/** Maximum delay of a retry. The delay doubles with each failure. */
const MAX_RETRY_DELAY_MS = 300_000;

/** Instance id of messages of the installation itself, which belong to no queue instance. */
export const INSTALLATION = '';

export interface AuditPushOptions {
  readonly audit: Pick<AuditStore, 'chained' | 'claimPush' | 'movePush'>;
  readonly sender: MessageSender;
  readonly url: string;
  /** Returns the time of the server clock, Unix ms. */
  readonly now: () => number;
  readonly log: Log;
}

export class AuditPush {
  private readonly options: AuditPushOptions;
  private readonly failureLog: ThrottledLog;
  private readonly stopController = new AbortController();
  private retryDelayMs = 0;
  private nextAttemptAt = Number.NEGATIVE_INFINITY;

  constructor(options: AuditPushOptions) {
    this.options = options;
    this.failureLog = new ThrottledLog(options.log, 'audit log push failed, retrying');
  }

  /** Pushes all new entries, unless the endpoint failed recently or another process pushes. Rejects if the store fails. */
  async pushNew(): Promise<void> {
    const { audit, now } = this.options;
    if (now() < this.nextAttemptAt || this.stopController.signal.aborted) return;
    let seq = await audit.claimPush({ now: now(), until: now() + CLAIM_MS });
    if (seq === null) return;
    for (;;) {
      const batch = await audit.chained({ after: seq, limit: LIMITS.auditPushBatch, from: null, to: null });
      const lastEntry = batch.at(-1);
      const isAccepted = lastEntry !== undefined && (await this.send(exportLines(batch)));
      // Another process may continue immediately if this one has nothing to send.
      if (!isAccepted) return audit.movePush({ seq, until: now() });
      seq = lastEntry.seq;
      await audit.movePush({ seq, until: now() + CLAIM_MS });
    }
  }

  /** Aborts the current push, which is repeated after the next start. */
  stop(): void {
    this.stopController.abort();
  }

  private async send(body: Buffer): Promise<boolean> {
    const { sender, url, now } = this.options;
    const outcome = await sender.send(
      {
        instanceId: INSTALLATION,
        dialect: 'native',
        method: 'POST',
        url,
        headers: { 'content-type': NDJSON_TYPE },
        body,
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: MAX_RESPONSE_BYTES,
        anyBody: true,
        signed: { kind: 'audit-log', isOwn: false },
        headerMode: 'forwarded',
      },
      this.stopController.signal,
    );
    if (outcome.kind === 'response' && outcome.status >= 200 && outcome.status < 300) {
      this.retryDelayMs = 0;
      return true;
    }
    if (this.stopController.signal.aborted) return false;
    this.retryDelayMs = Math.min(MAX_RETRY_DELAY_MS, Math.max(LIMITS.auditPushEveryMs, 2 * this.retryDelayMs));
    this.nextAttemptAt = now() + this.retryDelayMs;
    const status = outcome.kind === 'response' ? outcome.status : null;
    const cause = outcome.kind === 'response' ? 'http' : outcome.failure.cause;
    this.failureLog.warn({ cause, status, retryAfterMs: this.retryDelayMs });
    return false;
  }
}
