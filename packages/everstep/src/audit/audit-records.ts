/** Writes audit log entries for requests: successful ones individually, rejected ones as counts. */
import { newKey } from '../engine/ids.js';
import type { AuditNote, AuditRequest } from '../engine/writes.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Random } from '../ports/random.js';
import type { AccountStore } from '../ports/stores/account-store.js';
import { RecentTimes } from './recent-times.js';
import { type RefusedRequest, RefusedRequests } from './refused-requests.js';

/** Time within which equal rejected requests share one entry. */
const REFUSALS_INTERVAL_MS = 60_000;
/** Time within which logins with HTTP Basic are recorded at most once: every request with HTTP Basic is a login. */
const LOGIN_INTERVAL_MS = 3_600_000;
/** Time within which repeated reads of a secret share one entry, because pages request it repeatedly. */
const READ_INTERVAL_MS = 60_000;
const MAX_REMEMBERED = 10_000;
/** Audit action and channel of each command that is given on the machine of the server. */
const COMMANDS = {
  backup: { action: 'backup.create', credential: 'control socket' },
  'rotate-secrets': { action: 'secrets.rotate', credential: 'control socket' },
  'log-level': { action: 'log-level.set', credential: 'signal' },
} as const;

export interface AuditRecordsOptions {
  readonly accounts: Pick<AccountStore, 'addAudit' | 'findInstance'>;
  /** Returns the time of the server clock, Unix ms. */
  readonly now: () => number;
  /** Clock of the machine: writing the counts does not depend on the server clock. */
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Pick<Log, 'warn'>;
}

/** An entry without its id and time, which are generated. */
export type NewEntry = Omit<AuditNote, 'auditId' | 'at'>;

export class AuditRecords {
  private readonly options: AuditRecordsOptions;
  private readonly refusedRequests = new RefusedRequests();
  private readonly logins = new RecentTimes(MAX_REMEMBERED, LOGIN_INTERVAL_MS);
  private readonly secretReads = new RecentTimes(MAX_REMEMBERED, READ_INTERVAL_MS);
  private cancelTimer: (() => void) | null = null;
  private latestWrite: Promise<void> = Promise.resolve();

  constructor(options: AuditRecordsOptions) {
    this.options = options;
  }

  /** Returns the entry with a new id and the current time. */
  entry(fields: NewEntry): AuditNote {
    const { now, random } = this.options;
    const at = now();
    return { auditId: `aud_${newKey({ now: at, random })}`, at, ...fields };
  }

  /** Records a command. Only the operating system user of the process can open its control socket or send it a signal. */
  async command(operation: keyof typeof COMMANDS, details: AuditNote['details']): Promise<void> {
    const { action, credential } = COMMANDS[operation];
    const request: AuditRequest = { operation, credential, userAgent: '', instanceId: null, outcome: 'done' };
    await this.write(this.entry({ actor: 'operator', action, subject: '', details, address: '', accountIds: [], request }));
  }

  write(entry: AuditNote): Promise<void> {
    return this.options.accounts.addAudit(entry);
  }

  /** Returns a list with the current owner of the instance; empty if it has none. */
  async ownersOf(instanceId: string): Promise<readonly string[]> {
    const ownerId = (await this.options.accounts.findInstance({ instanceId }))?.accountId;
    return ownerId === undefined ? [] : [ownerId];
  }

  /** Records a login with HTTP Basic, once an hour for each API key and network. */
  async recordLogin(entry: NewEntry, network: string): Promise<void> {
    await this.writeOnce(this.logins, `${entry.request?.credential} ${network}`, entry);
  }

  /** Records a read of a secret, once a minute for each caller, object and network. */
  async recordSecretRead(entry: NewEntry, network: string): Promise<void> {
    const { subject, request } = entry;
    await this.writeOnce(this.secretReads, JSON.stringify([request?.credential, request?.operation, subject, network]), entry);
  }

  private async writeOnce(times: RecentTimes, key: string, entry: NewEntry): Promise<void> {
    if (!times.isDue(key, this.options.clock.now())) return;
    try {
      await this.write(this.entry(entry));
    } catch (error) {
      times.forget(key);
      throw error;
    }
  }

  /** Counts a rejected request. Counts are written within a minute, combined by kind. A crash loses unwritten counts. */
  countRefusal(request: RefusedRequest): void {
    this.refusedRequests.count(request);
    if (this.cancelTimer) return;
    const { clock } = this.options;
    this.cancelTimer = clock.setTimer(clock.now() + REFUSALS_INTERVAL_MS, () => void this.writeRefused());
  }

  /** Resolves when all counts are written, or could not be written. */
  async writeRefused(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = null;
    const counts = this.refusedRequests.take();
    this.latestWrite = this.latestWrite.then(async () => {
      for (const { request, count } of counts) await this.writeCount(request, count);
    });
    await this.latestWrite;
  }

  private async writeCount(request: RefusedRequest, count: number): Promise<void> {
    const { operation, credential, instanceId, actor, network, code, userId } = request;
    try {
      const ownerIds = instanceId === null ? [] : await this.ownersOf(instanceId);
      const auditRequest: AuditRequest = { operation, credential, userAgent: '', instanceId, outcome: 'refused' };
      await this.write(
        this.entry({
          actor,
          action: 'request.refused',
          subject: instanceId ?? userId ?? '',
          details: { code, count },
          address: network,
          accountIds: userId === null ? ownerIds : [...ownerIds, userId],
          request: auditRequest,
        }),
      );
    } catch (error) {
      this.options.log.warn(
        { instanceId, operation, count, error: String(error) },
        'could not record rejected requests in the audit log',
      );
    }
  }
}
