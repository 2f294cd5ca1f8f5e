/**
 * Records the networks from which users have logged in. Failed logins elsewhere do not delay a user at such a
 * network, even after a restart. Networks are stored as keyed hashes, so the store does not reveal where users
 * have logged in.
 */
import { createHmac } from 'node:crypto';
import type { AccountStore } from '../../ports/stores/account-store.js';
import { currentKey, KEY_RINGS, KeyRing } from '../../secrets/key-ring.js';
import { networkOf } from './client-network.js';

/** Minimum time between two records of a place, because every request with HTTP Basic is a login. */
const RECORD_INTERVAL_MS = 86_400_000;

export interface LoginPlacesOptions {
  readonly accounts: Pick<AccountStore, 'secret' | 'lastLoginAt' | 'noteLogin'>;
}

/** A user, and the address of a login. The store contains only a hash of both. */
export interface LoginPlace {
  readonly userId: string;
  readonly address: string;
}

/** Time of the last recorded login from the network in Unix ms; null if there is none. */
export type RecordedAt = number | null;

export class LoginPlaces {
  private readonly options: LoginPlacesOptions;
  private readonly ring: KeyRing;

  constructor(options: LoginPlacesOptions) {
    this.options = options;
    this.ring = new KeyRing({ accounts: options.accounts, name: KEY_RINGS.loginNetworks.name });
  }

  async recordedAt(place: LoginPlace): Promise<RecordedAt> {
    const { userId } = place;
    return this.options.accounts.lastLoginAt({ userId, place: await this.hashOf(place) });
  }

  /** Records a successful login. Rejects if it could not be stored. */
  async note(place: LoginPlace, recordedAt: RecordedAt, at: number): Promise<void> {
    if (recordedAt !== null && at - recordedAt < RECORD_INTERVAL_MS) return;
    const { userId } = place;
    await this.options.accounts.noteLogin({ userId, place: await this.hashOf(place), at });
  }

  private async hashOf({ userId, address }: LoginPlace): Promise<string> {
    const network = networkOf(address);
    return createHmac('sha256', currentKey(await this.ring.keys()))
      .update(JSON.stringify([userId, network]))
      .digest('base64url');
  }
}
