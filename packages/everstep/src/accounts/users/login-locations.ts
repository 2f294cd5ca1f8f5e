/**
 * Records the networks from which users have logged in. Failed logins elsewhere do not delay a user at such a
 * network, even after a restart. Networks are stored as keyed hashes, so the store does not reveal where users
 * have logged in.
 */
import { createHmac } from 'node:crypto';
import type { AccountStore } from '../../ports/stores/account-store.js';
import { currentKey, KEY_RINGS, KeyRing } from '../../secrets/key-ring.js';
import { networkOf } from './client-network.js';

/** Minimum time between two records of a location, because every request with HTTP Basic is a login. */
const RECORD_INTERVAL_MS = 86_400_000;

export interface LoginLocationsOptions {
  readonly accounts: Pick<AccountStore, 'findOrCreateSecret' | 'lastLoginAt' | 'recordLogin'>;
}

/** A user, and the address of a login. The store contains only a hash of both. */
export interface LoginLocation {
  readonly userId: string;
  readonly address: string;
}

/** Time of the last recorded login from the network in Unix ms; null if there is none. */
export type LastLoginAt = number | null;

export class LoginLocations {
  private readonly options: LoginLocationsOptions;
  private readonly ring: KeyRing;

  constructor(options: LoginLocationsOptions) {
    this.options = options;
    this.ring = new KeyRing({ accounts: options.accounts, name: KEY_RINGS.loginNetworks.name });
  }

  async lastLoginAt(location: LoginLocation): Promise<LastLoginAt> {
    const { userId } = location;
    return this.options.accounts.lastLoginAt({ userId, location: await this.hashOf(location) });
  }

  /** Records a successful login. Rejects if it could not be stored. */
  async record(location: LoginLocation, lastLoginAt: LastLoginAt, at: number): Promise<void> {
    if (lastLoginAt !== null && at - lastLoginAt < RECORD_INTERVAL_MS) return;
    const { userId } = location;
    await this.options.accounts.recordLogin({ userId, location: await this.hashOf(location), at });
  }

  private async hashOf({ userId, address }: LoginLocation): Promise<string> {
    const network = networkOf(address);
    return createHmac('sha256', currentKey(await this.ring.keys()))
      .update(JSON.stringify([userId, network]))
      .digest('base64url');
  }
}
