/**
 * Where users have logged in from: who comes from there is not held up by those who fail elsewhere, also after a restart.
 * Kept as a keyed hash of the network, so that the store tells nobody where somebody has been.
 */
import { createHmac } from 'node:crypto';
import type { AccountStore } from '../ports/account-store.js';
import { currentKey, KEY_RINGS, KeyRing } from '../secrets/key-ring.js';
import { networkOf } from './network-of.js';

/** A login that was noted lately is not noted again: each request is a login. */
const NOTE_AFTER_MS = 86_400_000;

export interface LoginPlacesOptions {
  readonly accounts: Pick<AccountStore, 'secret' | 'loginNotedAt' | 'noteLogin'>;
}

export interface LoginPlace {
  readonly userId: string;
  readonly address: string;
}

/** When a login from there was noted last, Unix ms; null: never. */
export type NotedAt = number | null;

export class LoginPlaces {
  private readonly options: LoginPlacesOptions;
  private readonly ring: KeyRing;

  constructor(options: LoginPlacesOptions) {
    this.options = options;
    this.ring = new KeyRing({ accounts: options.accounts, name: KEY_RINGS.places.name });
  }

  async notedAt(place: LoginPlace): Promise<NotedAt> {
    const { userId } = place;
    return this.options.accounts.loginNotedAt({ userId, place: await this.hashOf(place) });
  }

  /** The user was let in. Rejects when that could not be noted. */
  async note(place: LoginPlace, notedAt: NotedAt, at: number): Promise<void> {
    if (notedAt !== null && at - notedAt < NOTE_AFTER_MS) return;
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
