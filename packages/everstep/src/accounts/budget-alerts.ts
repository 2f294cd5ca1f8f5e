/**
 * Tells the owner of an instance when 80 % and 100 % of a month's budget are
 * spent: once each, to the URL that is set for it. That it is told is noted
 * before it is sent, so that it is never told twice; what a crash cuts off in
 * between is not told again, and what was spent is visible all the same.
 */

import type { AccountStore } from '../ports/account-store.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { MessageSender } from '../ports/message-sender.js';
import type { BudgetStanding } from './budget.js';

/** The highest first: a budget that is passed at once is told once. */
const PERCENTS = [100, 80] as const;
/** What is counted meanwhile is looked at together. */
const LOOK_AFTER_MS = 1_000;
const RETRY_AFTER_MS: readonly number[] = [1_000, 10_000, 60_000, 600_000];
const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 64 * 1024;

export interface BudgetAlertsOptions {
  readonly accounts: Pick<AccountStore, 'noteBudgetAlert'>;
  /** As it is now, not as it was lately. */
  readonly standing: (instanceId: string) => Promise<BudgetStanding | null>;
  readonly sender: MessageSender;
  readonly clock: Clock;
  readonly log: Log;
}

interface Alert {
  readonly instanceId: string;
  readonly url: string;
  readonly body: Uint8Array;
}

export class BudgetAlerts {
  private readonly options: BudgetAlertsOptions;
  private readonly spending = new Set<string>();
  private readonly cancels = new Set<() => void>();
  private readonly underWay = new Set<Promise<void>>();
  private readonly stopped = new AbortController();
  private looksSoon = false;

  constructor(options: BudgetAlertsOptions) {
    this.options = options;
  }

  /** Messages were counted for this instance: soon its budget is looked at. */
  spent(instanceId: string): void {
    this.spending.add(instanceId);
    if (this.looksSoon || this.stopped.signal.aborted) return;
    this.looksSoon = true;
    this.after(LOOK_AFTER_MS, () => {
      this.looksSoon = false;
      const instances = [...this.spending];
      this.spending.clear();
      for (const each of instances) this.track(each, this.look(each));
    });
  }

  /** Gives up what is being sent, and resolves when nothing is. */
  async stop(): Promise<void> {
    this.stopped.abort();
    for (const cancel of this.cancels) cancel();
    this.cancels.clear();
    await Promise.allSettled([...this.underWay]);
  }

  private async look(instanceId: string): Promise<void> {
    const { accounts, standing } = this.options;
    const stands = await standing(instanceId);
    if (!stands || stands.budget <= 0) return;
    const { month, budget, spent, alertUrl } = stands;
    if (alertUrl === null) return;
    const passed = PERCENTS.filter((percent) => spent * 100 >= budget * percent);
    let told = false;
    for (const percent of passed) {
      const first = await accounts.noteBudgetAlert({ instanceId, month, percent });
      if (!first || told) continue;
      told = true;
      const body = Buffer.from(JSON.stringify({ queue_id: instanceId, month, budget, spent, percent }));
      this.track(instanceId, this.send({ instanceId, url: alertUrl, body }, 0));
    }
  }

  private async send(alert: Alert, retried: number): Promise<void> {
    const { sender, log } = this.options;
    const { instanceId, url, body } = alert;
    const answer = await sender.send(
      {
        instanceId,
        dialect: 'native',
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json' },
        serviceHeaders: { Retried: String(retried) },
        body,
        timeoutMs: TIMEOUT_MS,
        maxAnswerBytes: MAX_ANSWER_BYTES,
        signed: true,
      },
      this.stopped.signal,
    );
    if (this.stopped.signal.aborted) return;
    if (answer.kind === 'answered' && answer.status >= 200 && answer.status < 300) return;
    const status = answer.kind === 'answered' ? answer.status : null;
    const cause = answer.kind === 'answered' ? 'http' : answer.failure.cause;
    const retryAfterMs = RETRY_AFTER_MS[retried] ?? null;
    log.warn({ instanceId, cause, status, retried, retryAfterMs }, 'nobody took the message that a budget is being spent');
    if (retryAfterMs !== null) this.after(retryAfterMs, () => this.track(instanceId, this.send(alert, retried + 1)));
  }

  private after(delayMs: number, work: () => void): void {
    if (this.stopped.signal.aborted) return;
    const { clock } = this.options;
    const cancel = clock.setTimer(clock.now() + delayMs, () => {
      this.cancels.delete(cancel);
      work();
    });
    this.cancels.add(cancel);
  }

  private track(instanceId: string, work: Promise<void>): void {
    const settled: Promise<void> = work
      .catch((error: unknown) => {
        this.options.log.error({ instanceId, error: String(error) }, 'a budget could not be looked at');
        // Perhaps the store is back then.
        this.spent(instanceId);
      })
      .finally(() => this.underWay.delete(settled));
    this.underWay.add(settled);
  }
}
