/** Counts failed logins in a sliding window, by account, by address and by both, in bounded memory. */

export interface FailedLoginLimits {
  /** Of one account from one address. */
  readonly ofBoth: number;
  /** Of one account from everywhere, and from one address to all accounts. */
  readonly inAll: number;
  readonly windowMs: number;
  /** Accounts and addresses that are remembered. */
  readonly remembered: number;
}

/** Who tried, and from where. */
export interface LoginAttempt {
  readonly email: string;
  readonly address: string;
}

export class FailedLogins {
  private readonly limits: FailedLoginLimits;
  /** Times of the latest failures, oldest first; who failed longest ago stands first. */
  private readonly failures = new Map<string, readonly number[]>();

  constructor(limits: FailedLoginLimits) {
    this.limits = limits;
  }

  /** How long until another attempt is looked at; 0: at once. */
  waitMs(attempt: LoginAttempt, now: number): number {
    return Math.max(...this.counted(attempt).map(([key, limit]) => this.waitOf(key, limit, now)));
  }

  record(attempt: LoginAttempt, now: number): void {
    for (const [key, limit] of this.counted(attempt)) {
      const kept = [...(this.failures.get(key) ?? []), now].slice(-limit);
      this.failures.delete(key);
      this.failures.set(key, kept);
    }
    while (this.failures.size > this.limits.remembered) {
      const oldest = this.failures.keys().next();
      if (oldest.done) return;
      this.failures.delete(oldest.value);
    }
  }

  get size(): number {
    return this.failures.size;
  }

  private counted({ email, address }: LoginAttempt): readonly (readonly [key: string, limit: number])[] {
    const { ofBoth, inAll } = this.limits;
    return [
      [JSON.stringify([email, address]), ofBoth],
      [JSON.stringify({ email }), inAll],
      [JSON.stringify({ address }), inAll],
    ];
  }

  private waitOf(key: string, limit: number, now: number): number {
    const times = this.failures.get(key) ?? [];
    const first = times.at(-limit);
    if (times.length < limit || first === undefined) return 0;
    return Math.max(0, first + this.limits.windowMs - now);
  }
}
