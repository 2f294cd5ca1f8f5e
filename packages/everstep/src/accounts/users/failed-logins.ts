/**
 * Counts failed logins in a sliding window by user, by address, and by both, in bounded memory.
 *
 * Anyone can enter wrong keys for another user, and behind an untrusted proxy all clients have the same
 * address. So failures of others do not delay a user at an address from which that user has logged in before: an
 * attacker could otherwise lock the user out indefinitely. For the same reason, a shared address is not treated as
 * one attacker.
 */
import { LIMITS } from '../../config/limits.js';
import { isPrivateAddress, networkOf } from './client-network.js';

/** Number of users who must have logged in from a network before it counts as shared. */
const MIN_USERS_OF_SHARED_NETWORK = 2;

export interface FailedLoginLimits {
  /** Limit for one user from one address. */
  readonly perUserAndAddress: number;
  /** Limit for one user from all addresses, and for all users from one address. */
  readonly perUserOrAddress: number;
  readonly windowMs: number;
  /** Maximum number of keys in each map. */
  readonly maxEntries: number;
}

/** Email and address of a login attempt. All addresses of an IPv6 network count as one. */
export interface LoginAttempt {
  readonly email: string;
  readonly address: string;
}

export class FailedLogins {
  private readonly limits: FailedLoginLimits;
  /** Times of the latest failures, oldest first. Entries are ordered by their last failure. */
  private readonly failures = new Map<string, readonly number[]>();
  /** Users that logged in from each network. Entries are ordered by the latest login. */
  private readonly latestUsersByNetwork = new Map<string, readonly string[]>();

  constructor(limits: FailedLoginLimits) {
    this.limits = limits;
  }

  /**
   * Returns the wait before another attempt in ms, 0 for none. `isKnownNetwork` is true if the user has logged in from the
   * network of this address before.
   */
  waitMs(attempt: LoginAttempt, isKnownNetwork: boolean, now: number): number {
    const { perUserAndAddress, perUserOrAddress } = this.limits;
    const { user, network, userAndNetwork } = keysOf(attempt);
    if (isKnownNetwork) return this.waitMsOf(userAndNetwork, perUserAndAddress, now);
    return Math.max(
      this.waitMsOf(userAndNetwork, perUserAndAddress, now),
      this.waitMsOf(user, perUserOrAddress, now),
      this.isShared(attempt) ? 0 : this.waitMsOf(network, perUserOrAddress, now),
    );
  }

  /** Returns the time that every attempt from the address must wait; 0 if this depends on the user. */
  waitMsOfAddress(address: string, now: number): number {
    const { network } = keysOf({ email: '', address });
    if (isPrivateAddress(address) || this.latestUsersByNetwork.has(network)) return 0;
    return this.waitMsOf(network, this.limits.perUserOrAddress, now);
  }

  /** Records a successful login. */
  recordSuccess(attempt: LoginAttempt): void {
    const { network } = keysOf(attempt);
    const users = this.latestUsersByNetwork.get(network) ?? [];
    this.latestUsersByNetwork.delete(network);
    const latestUsers = users.includes(attempt.email) ? users : [...users, attempt.email].slice(-MIN_USERS_OF_SHARED_NETWORK);
    this.latestUsersByNetwork.set(network, latestUsers);
    forgetOldest(this.latestUsersByNetwork, this.limits.maxEntries);
  }

  recordFailure(attempt: LoginAttempt, now: number): void {
    const { perUserAndAddress, perUserOrAddress } = this.limits;
    const { user, network, userAndNetwork } = keysOf(attempt);
    for (const [key, limit] of [
      [userAndNetwork, perUserAndAddress] as const,
      [user, perUserOrAddress] as const,
      [network, perUserOrAddress] as const,
    ]) {
      const times = [...(this.failures.get(key) ?? []), now].slice(-limit);
      this.failures.delete(key);
      this.failures.set(key, times);
    }
    forgetOldest(this.failures, this.limits.maxEntries);
  }

  get size(): number {
    return this.failures.size + this.latestUsersByNetwork.size;
  }

  private isShared(attempt: LoginAttempt): boolean {
    if (isPrivateAddress(attempt.address)) return true;
    return (this.latestUsersByNetwork.get(keysOf(attempt).network)?.length ?? 0) >= MIN_USERS_OF_SHARED_NETWORK;
  }

  private waitMsOf(key: string, limit: number, now: number): number {
    const times = this.failures.get(key) ?? [];
    const oldestCountedAt = times.at(-limit);
    if (times.length < limit || oldestCountedAt === undefined) return 0;
    return Math.max(0, oldestCountedAt + this.limits.windowMs - now);
  }
}

function forgetOldest(map: Map<string, unknown>, max: number): void {
  while (map.size > max) {
    const oldest = map.keys().next();
    if (oldest.done) break;
    map.delete(oldest.value);
  }
}

/** Creates a counter with the limits of the server. */
export const createFailedLogins = (): FailedLogins =>
  new FailedLogins({
    perUserAndAddress: LIMITS.maxFailedLogins,
    perUserOrAddress: LIMITS.maxFailedLoginsTotal,
    windowMs: LIMITS.failedLoginWindowMs,
    maxEntries: LIMITS.maxTrackedLoginFailures,
  });

function keysOf({ email, address }: LoginAttempt) {
  const network = networkOf(address);
  return {
    user: JSON.stringify({ email }),
    network: JSON.stringify({ network }),
    userAndNetwork: JSON.stringify([email, network]),
  };
}
