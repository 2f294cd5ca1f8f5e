/**
 * Counts failed logins in a sliding window, by account, by address and by both, in bounded memory.
 *
 * Anybody can fail to log in to an account of somebody else. So what fails elsewhere does not hold up those who come from
 * where the account has logged in before: they would be locked out for as long as somebody likes.
 */
import { networkOf } from './network-of.js';

export interface FailedLoginLimits {
  /** Of one account from one address. */
  readonly ofBoth: number;
  /** Of one account from everywhere, and from one address to all accounts. */
  readonly inAll: number;
  readonly windowMs: number;
  /** Accounts and addresses that are remembered. */
  readonly remembered: number;
}

/** Who tried, and from where; the addresses of one IPv6 network count as one. */
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

  /** How long until another attempt is looked at; 0: at once. `known`: the account has logged in from there before. */
  waitMs(attempt: LoginAttempt, known: boolean, now: number): number {
    const { ofBoth, inAll } = this.limits;
    const { account, network, both } = keysOf(attempt);
    return Math.max(
      this.waitOf(both, ofBoth, now),
      this.waitOf(network, inAll, now),
      known ? 0 : this.waitOf(account, inAll, now),
    );
  }

  /** How long until any attempt from the address is looked at; 0: at once. */
  waitMsOfAddress(address: string, now: number): number {
    return this.waitOf(keysOf({ email: '', address }).network, this.limits.inAll, now);
  }

  record(attempt: LoginAttempt, now: number): void {
    const { ofBoth, inAll } = this.limits;
    const { account, network, both } = keysOf(attempt);
    for (const [key, limit] of [[both, ofBoth] as const, [account, inAll] as const, [network, inAll] as const]) {
      const kept = [...(this.failures.get(key) ?? []), now].slice(-limit);
      this.failures.delete(key);
      this.failures.set(key, kept);
    }
    while (this.failures.size > this.limits.remembered) {
      const oldest = this.failures.keys().next();
      if (oldest.done) break;
      this.failures.delete(oldest.value);
    }
  }

  get size(): number {
    return this.failures.size;
  }

  private waitOf(key: string, limit: number, now: number): number {
    const times = this.failures.get(key) ?? [];
    const first = times.at(-limit);
    if (times.length < limit || first === undefined) return 0;
    return Math.max(0, first + this.limits.windowMs - now);
  }
}

function keysOf({ email, address }: LoginAttempt) {
  const network = networkOf(address);
  return {
    account: JSON.stringify({ email }),
    network: JSON.stringify({ network }),
    both: JSON.stringify([email, network]),
  };
}
