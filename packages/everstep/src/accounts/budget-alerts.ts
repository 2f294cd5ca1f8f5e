/**
 * Tells the owner of an instance when 80 % and 100 % of a month's budget are
 * spent: once each, to the URL that is set for it. What is to be told is a row
 * before it is sent, and stays one until it was taken or is given up; so a
 * crash can have it told twice, and never not at all. Where several processes
 * look, who sends it puts it off first, so that none of the others sends it
 * too. With another budget or
 * another owner the store forgets what was told, and it begins anew.
 */

import type { AccountStore, OwedBudgetAlert } from '../ports/account-store.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { MessageSender } from '../ports/message-sender.js';
import { ALWAYS_OPEN, type StoreWritesState } from '../ports/store-writes.js';
import type { BudgetStanding } from './budget.js';

/** The highest first: a budget that is passed at once is told once. */
const PERCENTS = [100, 80] as const;
/** What is counted meanwhile is looked at together. */
const LOOK_AFTER_MS = 1_000;
const RETRY_AFTER_FAULT_MS = 1_000;
const RETRY_AFTER_MS: readonly number[] = [1_000, 10_000, 60_000, 600_000];
const TIMEOUT_MS = 30_000;
/** What one of several processes sends the others leave alone for so long; then it has ended in the middle of it. */
const LEAVE_ALONE_MS = 2 * TIMEOUT_MS;
const MAX_ANSWER_BYTES = 64 * 1024;
/** Alerts that are sent at the same time. */
const AT_ONCE = 50;

export interface BudgetAlertsOptions {
  readonly accounts: Pick<
    AccountStore,
    'noteBudgetAlert' | 'dueBudgetAlerts' | 'nextBudgetAlertAt' | 'moveBudgetAlert' | 'findInstance'
  >;
  /** As it is now, not as it was lately. */
  readonly standing: (instanceId: string) => Promise<BudgetStanding | null>;
  readonly sender: MessageSender;
  /** While it is closed nothing is sent; absent: it never is. */
  readonly writes?: StoreWritesState;
  readonly clock: Clock;
  readonly log: Log;
  /** Several processes look for the alerts that are owed. */
  readonly shared?: boolean;
}

/** With what it says: another may take its place when it is forgotten. */
const keyOf = ({ instanceId, month, percent, body }: OwedBudgetAlert): string => `${instanceId} ${month} ${percent} ${body}`;

export class BudgetAlerts {
  private readonly options: BudgetAlertsOptions;
  private readonly spending = new Set<string>();
  private readonly sending = new Set<string>();
  private readonly underWay = new Set<Promise<void>>();
  private readonly stopped = new AbortController();
  private cancelLook: (() => void) | null = null;
  private cancelWake: () => void = () => {};
  private wakeAt = Number.POSITIVE_INFINITY;

  constructor(options: BudgetAlertsOptions) {
    this.options = options;
  }

  /** Takes up what is still to be told, also by another process that has ended. */
  start(): void {
    this.wake(this.options.clock.now());
  }

  /** Messages were counted for this instance: soon its budget is looked at. */
  spent(instanceId: string): void {
    this.spending.add(instanceId);
    if (this.cancelLook || this.stopped.signal.aborted) return;
    const { clock } = this.options;
    this.cancelLook = clock.setTimer(clock.now() + LOOK_AFTER_MS, () => {
      this.cancelLook = null;
      const instances = [...this.spending];
      this.spending.clear();
      // Perhaps the store is back by then.
      for (const each of instances) this.track(this.look(each), { instanceId: each }, () => this.spent(each));
    });
  }

  /** Gives up what is being sent, and resolves when nothing is. It is sent after the next start. */
  async stop(): Promise<void> {
    this.stopped.abort();
    this.cancelLook?.();
    this.cancelWake();
    await Promise.allSettled([...this.underWay]);
  }

  private async look(instanceId: string): Promise<void> {
    const { accounts, standing, clock } = this.options;
    const stands = await standing(instanceId);
    if (!stands || stands.budget <= 0 || stands.alertUrl === null) return;
    const { month, budget, spent, accountId } = stands;
    const [percent, ...lesser] = PERCENTS.filter((each) => spent * 100 >= budget * each);
    if (percent === undefined) return;
    const body = JSON.stringify({ queue_id: instanceId, month, budget, spent, percent });
    const alert = { instanceId, month, percent, body, retried: 0, dueAt: clock.now() };
    // A change since the look has another look follow.
    if (await accounts.noteBudgetAlert({ alert, lesser, budgetDollars: budget, accountId })) this.wake(alert.dueAt);
  }

  /** Something is due at `at`. */
  private wake(at: number): void {
    if (this.stopped.signal.aborted || at >= this.wakeAt) return;
    this.cancelWake();
    this.wakeAt = at;
    const { clock } = this.options;
    const deliver = () => {
      this.wakeAt = Number.POSITIVE_INFINITY;
      this.track(this.deliverDue(), {}, () => this.wake(clock.now() + RETRY_AFTER_FAULT_MS));
    };
    this.cancelWake = () => {};
    if (at <= clock.now()) deliver();
    else this.cancelWake = clock.setTimer(at, deliver);
  }

  private async deliverDue(): Promise<void> {
    const { accounts, clock, writes = ALWAYS_OPEN } = this.options;
    const now = clock.now();
    if (!writes.isOpen) return this.wake(now + RETRY_AFTER_FAULT_MS);
    for (const alert of await accounts.dueBudgetAlerts({ before: now, limit: AT_ONCE })) {
      const key = keyOf(alert);
      if (this.sending.has(key) || this.stopped.signal.aborted) continue;
      this.sending.add(key);
      const sent = this.deliver(alert).finally(() => this.sending.delete(key));
      this.track(sent, { instanceId: alert.instanceId }, () => this.wake(clock.now() + RETRY_AFTER_FAULT_MS));
    }
    const nextAt = await accounts.nextBudgetAlertAt({ after: now });
    if (nextAt !== null) this.wake(nextAt);
  }

  /** One attempt. It stays as it is when the service stops meanwhile. */
  private async deliver(owed: OwedBudgetAlert): Promise<void> {
    const { accounts, clock, shared } = this.options;
    const alert = shared ? { ...owed, dueAt: clock.now() + LEAVE_ALONE_MS } : owed;
    if (shared && !(await accounts.moveBudgetAlert({ alert: owed, retried: owed.retried, dueAt: alert.dueAt }))) return;
    const { instanceId, retried } = alert;
    // The URL of now: another may have been set because nobody took it at the one before.
    const url = (await accounts.findInstance({ instanceId }))?.budgetAlertUrl;
    const taken = url === undefined || (await this.send(alert, url));
    if (this.stopped.signal.aborted) {
      if (shared) await accounts.moveBudgetAlert({ alert, retried, dueAt: owed.dueAt });
      return;
    }
    const delayMs = taken ? null : (RETRY_AFTER_MS[retried] ?? null);
    const dueAt = delayMs === null ? null : clock.now() + delayMs;
    await accounts.moveBudgetAlert({ alert, retried: retried + 1, dueAt });
    // Others may have waited for a place.
    this.wake(this.sending.size >= AT_ONCE ? clock.now() : (dueAt ?? Number.POSITIVE_INFINITY));
  }

  private async send({ instanceId, body, retried }: OwedBudgetAlert, url: string): Promise<boolean> {
    const { sender, log } = this.options;
    const answer = await sender.send(
      {
        instanceId,
        dialect: 'native',
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json' },
        serviceHeaders: { Retried: String(retried) },
        body: Buffer.from(body),
        timeoutMs: TIMEOUT_MS,
        maxAnswerBytes: MAX_ANSWER_BYTES,
        signed: { kind: 'budget-alert', isOwn: false },
        take: 'forwarded',
      },
      this.stopped.signal,
    );
    if (answer.kind === 'answered' && answer.status >= 200 && answer.status < 300) return true;
    if (this.stopped.signal.aborted) return false;
    const status = answer.kind === 'answered' ? answer.status : null;
    const cause = answer.kind === 'answered' ? 'http' : answer.failure.cause;
    const retryAfterMs = RETRY_AFTER_MS[retried] ?? null;
    log.warn({ instanceId, cause, status, retried, retryAfterMs }, 'budget alert was not accepted');
    return false;
  }

  private track(work: Promise<void>, about: { readonly instanceId?: string }, again: () => void): void {
    const settled: Promise<void> = work
      .catch((error: unknown) => {
        const { writes = ALWAYS_OPEN, log } = this.options;
        if (!writes.failed(error)) log.error({ ...about, error: String(error) }, 'budget alert check failed, retrying');
        again();
      })
      .finally(() => this.underWay.delete(settled));
    this.underWay.add(settled);
  }
}
