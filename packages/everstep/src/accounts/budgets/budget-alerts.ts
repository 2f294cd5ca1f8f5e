/**
 * Notifies the owner of an instance when 80% and 100% of a monthly budget are spent: once each, at the configured
 * URL. An alert is stored before it is sent, and stays pending until it is accepted or its retries are used up. After a crash
 * an alert may be sent twice, but it is never lost. If several processes deliver alerts, a process postpones an alert before
 * it sends it, so that no other process sends the same alert. When the budget or the owner changes, the store resets the
 * alerts.
 * Keeps invariant 19.
 */

import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MessageSender } from '../../ports/message-sender.js';
import type { AccountStore, PendingBudgetAlert } from '../../ports/stores/account-store.js';
import { ALWAYS_OPEN, type StoreWritesState } from '../../ports/stores/store-writes.js';
import type { BudgetStatus } from './budget.js';

/** Highest first: if the whole budget is exceeded at once, only one alert is sent. */
const PERCENTS = [100, 80] as const;
/** Messages counted within this time are checked together. */
const CHECK_DELAY_MS = 1_000;
const FAULT_RETRY_DELAY_MS = 1_000;
const RETRY_DELAYS_MS: readonly number[] = [1_000, 10_000, 60_000, 600_000];
const TIMEOUT_MS = 30_000;
/** Other processes ignore an alert in delivery for this time. After it, the sender is assumed to have ended. */
const DELIVERY_LEASE_MS = 2 * TIMEOUT_MS;
const MAX_RESPONSE_BYTES = 64 * 1024;
/** Maximum number of alerts sent concurrently. */
const MAX_ALERTS_IN_DELIVERY = 50;

export interface BudgetAlertsOptions {
  readonly accounts: Pick<
    AccountStore,
    'createBudgetAlert' | 'dueBudgetAlerts' | 'nextBudgetAlertAt' | 'rescheduleBudgetAlert' | 'findInstance'
  >;
  /** Returns the current spending, not a cached value. */
  readonly readStatus: (instanceId: string) => Promise<BudgetStatus | null>;
  readonly sender: MessageSender;
  /** Whether the store accepts writes. While it does not, nothing is sent. Default: always. */
  readonly writes?: StoreWritesState;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether several processes deliver pending alerts. */
  readonly isShared?: boolean;
}

/** Returns the key of an alert. It includes the body, because a reset alert can be replaced by another one. */
const keyOf = ({ instanceId, month, percent, body }: PendingBudgetAlert): string => `${instanceId} ${month} ${percent} ${body}`;

export class BudgetAlerts {
  private readonly options: BudgetAlertsOptions;
  private readonly instancesToCheck = new Set<string>();
  private readonly keysInDelivery = new Set<string>();
  private readonly workInProgress = new Set<Promise<void>>();
  private readonly stopController = new AbortController();
  private cancelCheck: (() => void) | null = null;
  private cancelWake: () => void = () => {};
  private wakeAt = Number.POSITIVE_INFINITY;

  constructor(options: BudgetAlertsOptions) {
    this.options = options;
  }

  /** Starts to deliver pending alerts, including those of ended processes. */
  start(): void {
    this.wake(this.options.clock.now());
  }

  /** Schedules a check of the instance's budget after messages were counted. */
  scheduleCheck(instanceId: string): void {
    this.instancesToCheck.add(instanceId);
    if (this.cancelCheck || this.stopController.signal.aborted) return;
    const { clock } = this.options;
    this.cancelCheck = clock.setTimer(clock.now() + CHECK_DELAY_MS, () => {
      this.cancelCheck = null;
      const instanceIds = [...this.instancesToCheck];
      this.instancesToCheck.clear();
      // The store may be available again by then.
      for (const instanceId of instanceIds)
        this.track(this.checkBudget(instanceId), { instanceId }, () => this.scheduleCheck(instanceId));
    });
  }

  /** Aborts the deliveries in progress and resolves when they have ended. The next start repeats them. */
  async stop(): Promise<void> {
    this.stopController.abort();
    this.cancelCheck?.();
    this.cancelWake();
    await Promise.allSettled([...this.workInProgress]);
  }

  private async checkBudget(instanceId: string): Promise<void> {
    const { accounts, readStatus, clock } = this.options;
    const budgetStatus = await readStatus(instanceId);
    if (!budgetStatus || budgetStatus.budget <= 0 || budgetStatus.alertUrl === null) return;
    const { month, budget, spent, accountId } = budgetStatus;
    const [percent, ...lowerPercents] = PERCENTS.filter((threshold) => spent * 100 >= budget * threshold);
    if (percent === undefined) return;
    const body = JSON.stringify({ queue_id: instanceId, month, budget, spent, percent });
    const alert = { instanceId, month, percent, body, retried: 0, dueAt: clock.now() };
    // If the instance changed since it was read, another check follows.
    if (await accounts.createBudgetAlert({ alert, lowerPercents, budgetDollars: budget, accountId })) this.wake(alert.dueAt);
  }

  /** Schedules the delivery of an alert that is due at `at`. */
  private wake(at: number): void {
    if (this.stopController.signal.aborted || at >= this.wakeAt) return;
    this.cancelWake();
    this.wakeAt = at;
    const { clock } = this.options;
    const deliver = () => {
      this.wakeAt = Number.POSITIVE_INFINITY;
      this.track(this.deliverDueAlerts(), {}, () => this.wake(clock.now() + FAULT_RETRY_DELAY_MS));
    };
    this.cancelWake = () => {};
    if (at <= clock.now()) deliver();
    else this.cancelWake = clock.setTimer(at, deliver);
  }

  private async deliverDueAlerts(): Promise<void> {
    const { accounts, clock, writes = ALWAYS_OPEN } = this.options;
    const now = clock.now();
    if (!writes.isOpen) return this.wake(now + FAULT_RETRY_DELAY_MS);
    for (const alert of await accounts.dueBudgetAlerts({ before: now, limit: MAX_ALERTS_IN_DELIVERY })) {
      const key = keyOf(alert);
      if (this.keysInDelivery.has(key) || this.stopController.signal.aborted) continue;
      this.keysInDelivery.add(key);
      const delivery = this.deliver(alert).finally(() => this.keysInDelivery.delete(key));
      this.track(delivery, { instanceId: alert.instanceId }, () => this.wake(clock.now() + FAULT_RETRY_DELAY_MS));
    }
    const nextAt = await accounts.nextBudgetAlertAt({ after: now });
    if (nextAt !== null) this.wake(nextAt);
  }

  /** Makes one attempt to deliver an alert. If the server stops during the attempt, the alert stays unchanged. */
  private async deliver(pendingAlert: PendingBudgetAlert): Promise<void> {
    const { accounts, clock, isShared } = this.options;
    const { retried } = pendingAlert;
    const alert = isShared ? { ...pendingAlert, dueAt: clock.now() + DELIVERY_LEASE_MS } : pendingAlert;
    if (isShared && !(await accounts.rescheduleBudgetAlert({ alert: pendingAlert, retried, dueAt: alert.dueAt }))) return;
    const { instanceId } = alert;
    // Reads the current URL: it may have been changed because the previous one did not work.
    const url = (await accounts.findInstance({ instanceId }))?.budgetAlertUrl;
    const isDone = url === undefined || (await this.send(alert, url));
    if (this.stopController.signal.aborted) {
      if (isShared) await accounts.rescheduleBudgetAlert({ alert, retried, dueAt: pendingAlert.dueAt });
      return;
    }
    const delayMs = isDone ? null : (RETRY_DELAYS_MS[retried] ?? null);
    const dueAt = delayMs === null ? null : clock.now() + delayMs;
    await accounts.rescheduleBudgetAlert({ alert, retried: retried + 1, dueAt });
    // Further alerts may wait for a free slot.
    this.wake(this.keysInDelivery.size >= MAX_ALERTS_IN_DELIVERY ? clock.now() : (dueAt ?? Number.POSITIVE_INFINITY));
  }

  private async send({ instanceId, body, retried }: PendingBudgetAlert, url: string): Promise<boolean> {
    const { sender, log } = this.options;
    const outcome = await sender.send(
      {
        instanceId,
        dialect: 'native',
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json' },
        serviceHeaders: { Retried: String(retried) },
        body: Buffer.from(body),
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: MAX_RESPONSE_BYTES,
        signed: { kind: 'budget-alert', isOwn: false },
        headerMode: 'forwarded',
      },
      this.stopController.signal,
    );
    if (outcome.kind === 'response' && outcome.status >= 200 && outcome.status < 300) return true;
    if (this.stopController.signal.aborted) return false;
    const status = outcome.kind === 'response' ? outcome.status : null;
    const cause = outcome.kind === 'response' ? 'http' : outcome.failure.cause;
    const retryAfterMs = RETRY_DELAYS_MS[retried] ?? null;
    log.warn({ instanceId, cause, status, retried, retryAfterMs }, 'budget alert delivery failed');
    return false;
  }

  private track(work: Promise<void>, logFields: { readonly instanceId?: string }, retry: () => void): void {
    const settled: Promise<void> = work
      .catch((error: unknown) => {
        const { writes = ALWAYS_OPEN, log } = this.options;
        if (!writes.reportFailure(error))
          log.error({ ...logFields, error: String(error) }, 'could not process budget alerts, retrying in 1 s');
        retry();
      })
      .finally(() => this.workInProgress.delete(settled));
    this.workInProgress.add(settled);
  }
}
