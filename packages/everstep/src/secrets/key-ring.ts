/**
 * Keys of the installation that can be replaced while it runs. Values made with an earlier key stay valid as long as
 * the key is in the ring. Each ring is one secret. A secret from an earlier version is a ring with one key.
 */
import { randomBytes } from 'node:crypto';
import type { AccountStore } from '../ports/stores/account-store.js';

/** All rings: the name of the secret, and the maximum number of keys. */
export const KEY_RINGS = Object.freeze({
  /** Signs the permanent tokens. */
  tokens: { name: 'token-signing-key', maxKeys: 10 },
  /** Seals listing cursors. */
  cursors: { name: 'cursor-key', maxKeys: 2 },
  /** Seals sign-ins in progress at the identity provider. */
  signIns: { name: 'sign-in-state-key', maxKeys: 2 },
  /** Hashes the networks from which users log in. */
  loginNetworks: { name: 'login-places', maxKeys: 1 },
} as const);
export type KeyRingName = (typeof KEY_RINGS)[keyof typeof KEY_RINGS]['name'];

const KEY_BYTES = 32;
/** Time for which another process may use an outdated ring. */
const CACHE_TTL_MS = 3_000;
/** A new key is used only after this time, when every process has read the new ring despite clock differences. */
const OVERLAP_MS = 60_000;

export interface RingKey {
  readonly key: string;
  /** Time from which the next key is used, Unix ms; null for the current key. */
  readonly until: number | null;
}

/** Keys of a ring: the oldest key is first, and the current key is last. */
export type Ring = readonly RingKey[];

const newKey = (): string => randomBytes(KEY_BYTES).toString('base64url');

/** Parses the value of a secret: a ring as JSON, or a key from an earlier version. */
export function parseRing(value: string): Ring {
  if (!value.startsWith('[')) return [{ key: value, until: null }];
  const ring: Ring = JSON.parse(value);
  return ring;
}

/** Returns the key for values made at a time (Unix ms). */
export function keyAt(ring: Ring, at: number): string {
  const ringKey = ring.find(({ until }) => until === null || at < until) ?? ring.at(-1);
  if (!ringKey) throw new Error('a ring has no key');
  return ringKey.key;
}

export const currentKey = (ring: Ring): string => keyAt(ring, Number.POSITIVE_INFINITY);

/** Returns the ring with a new key. If `end` is true, the earlier keys are dropped, so that their values become invalid. */
export function rotateRing(
  ring: Ring,
  rotation: { readonly now: number; readonly maxKeys: number; readonly dropsEarlierKeys: boolean },
): Ring {
  const { now, maxKeys, dropsEarlierKeys } = rotation;
  const newRingKey: RingKey = { key: newKey(), until: null };
  if (dropsEarlierKeys || maxKeys === 1) return [newRingKey];
  const latestEnd = Math.max(now, ...ring.map(({ until }) => until ?? 0));
  const previousKeys = ring.map(({ key, until }) => ({ key, until: until ?? latestEnd + OVERLAP_MS }));
  return [...previousKeys, newRingKey].slice(-maxKeys);
}

export interface KeyRingOptions {
  readonly accounts: Pick<AccountStore, 'findOrCreateSecret'>;
  readonly name: KeyRingName;
  /** Returns the time of a monotonic clock in ms. */
  readonly elapsedMs?: () => number;
}

/** A cached ring that is read again every few seconds. */
export class KeyRing {
  private readonly options: KeyRingOptions;
  private cachedRing: { readonly ring: Ring; readonly readAt: number } | null = null;
  private pendingRead: Promise<Ring> | null = null;

  constructor(options: KeyRingOptions) {
    this.options = options;
  }

  /**
   * Returns the ring, and creates it if there is none. Rejects only if the ring was never read: if the store fails later,
   * the cached ring is used.
   */
  async keys(): Promise<Ring> {
    const { cachedRing } = this;
    if (cachedRing && this.elapsedMs() - cachedRing.readAt < CACHE_TTL_MS) return cachedRing.ring;
    this.pendingRead ??= this.read().finally(() => {
      this.pendingRead = null;
    });
    return cachedRing ? this.pendingRead.catch(() => cachedRing.ring) : this.pendingRead;
  }

  /** Drops the cached ring after a change. */
  forget(): void {
    if (this.cachedRing) this.cachedRing = { ...this.cachedRing, readAt: Number.NEGATIVE_INFINITY };
  }

  private async read(): Promise<Ring> {
    const { accounts, name } = this.options;
    const readAt = this.elapsedMs();
    const ring = parseRing(await accounts.findOrCreateSecret({ name, value: newKey() }));
    this.cachedRing = { ring, readAt };
    return ring;
  }

  private elapsedMs(): number {
    return (this.options.elapsedMs ?? (() => performance.now()))();
  }
}
