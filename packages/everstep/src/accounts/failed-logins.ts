/**
 * Counts failed logins in a sliding window, by account, by address and by both, in bounded memory.
 *
 * Anybody can fail to log in to an account of somebody else, and behind a proxy that is not trusted everybody has one
 * address. So failures of others do not hold up those who come from where the account has logged in before: they would be
 * locked out for as long as somebody likes. And an address that many share is not counted as one attacker.
 */
import { LIMITS } from '../config/limits.js';
import { isPrivateAddress, networkOf } from './network-of.js';

/** Users with good logins from one network that make it a shared one. */
const SHARED_BY = 2;

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
  /** By network, the users that logged in from there; the network of the latest login stands last. */
  private readonly goodUsers = new Map<string, readonly string[]>();

  constructor(limits: FailedLoginLimits) {
    this.limits = limits;
  }

  /** How long until another attempt is looked at; 0: at once. `known`: the account has logged in from there before. */
  waitMs(attempt: LoginAttempt, known: boolean, now: number): number {
    const { ofBoth, inAll } = this.limits;
    const { account, network, both } = keysOf(attempt);
    if (known) return this.waitOf(both, ofBoth, now);
    return Math.max(
      this.waitOf(both, ofBoth, now),
      this.waitOf(account, inAll, now),
      this.isShared(attempt) ? 0 : this.waitOf(network, inAll, now),
    );
  }

  /**
   * How long until any attempt from the address is looked at; 0: at once. Where users have logged in from, it depends on who
   * tries.
   */
  waitMsOfAddress(address: string, now: number): number {
    const { network } = keysOf({ email: '', address });
    if (isPrivateAddress(address) || this.goodUsers.has(network)) return 0;
    return this.waitOf(network, this.limits.inAll, now);
  }

  /** The user was let in. */
  recordGood(attempt: LoginAttempt): void {
    const { network } = keysOf(attempt);
    const users = this.goodUsers.get(network) ?? [];
    this.goodUsers.delete(network);
    this.goodUsers.set(network, users.includes(attempt.email) ? users : [...users, attempt.email].slice(-SHARED_BY));
    forgetOldest(this.goodUsers, this.limits.remembered);
  }

  record(attempt: LoginAttempt, now: number): void {
    const { ofBoth, inAll } = this.limits;
    const { account, network, both } = keysOf(attempt);
    for (const [key, limit] of [[both, ofBoth] as const, [account, inAll] as const, [network, inAll] as const]) {
      const kept = [...(this.failures.get(key) ?? []), now].slice(-limit);
      this.failures.delete(key);
      this.failures.set(key, kept);
    }
    forgetOldest(this.failures, this.limits.remembered);
  }

  get size(): number {
    return this.failures.size + this.goodUsers.size;
  }

  private isShared(attempt: LoginAttempt): boolean {
    if (isPrivateAddress(attempt.address)) return true;
    return (this.goodUsers.get(keysOf(attempt).network)?.length ?? 0) >= SHARED_BY;
  }

  private waitOf(key: string, limit: number, now: number): number {
    const times = this.failures.get(key) ?? [];
    const first = times.at(-limit);
    if (times.length < limit || first === undefined) return 0;
    return Math.max(0, first + this.limits.windowMs - now);
  }
}

function forgetOldest(map: Map<string, unknown>, most: number): void {
  while (map.size > most) {
    const oldest = map.keys().next();
    if (oldest.done) break;
    map.delete(oldest.value);
  }
}

/** With the limits of the service. */
export const createFailedLogins = (): FailedLogins =>
  new FailedLogins({
    ofBoth: LIMITS.maxFailedLogins,
    inAll: LIMITS.maxFailedLoginsInAll,
    windowMs: LIMITS.failedLoginWindowMs,
    remembered: LIMITS.rememberedLoginFailures,
  });

function keysOf({ email, address }: LoginAttempt) {
  const network = networkOf(address);
  return {
    account: JSON.stringify({ email }),
    network: JSON.stringify({ network }),
    both: JSON.stringify([email, network]),
  };
}
