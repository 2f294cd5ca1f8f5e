/**
 * Keys of the installation that are replaced while it runs. What an earlier key made stays valid as long as the key is in the
 * ring. Each ring is one secret; a secret of an earlier version is a ring of one key.
 */
import { randomBytes } from 'node:crypto';
import type { AccountStore } from '../ports/account-store.js';

/** Every ring: the name of its secret, and how many keys it has at most. */
export const KEY_RINGS = Object.freeze({
  /** Signs the permanent tokens. */
  tokens: { name: 'token-signing-key', maxKeys: 10 },
  /** Seals cursors of listings. */
  cursors: { name: 'cursor-key', maxKeys: 2 },
  /** Seals sign-ins that are under way at the identity provider. */
  signIns: { name: 'sign-in-state-key', maxKeys: 2 },
  /** Hashes the places that users log in from. */
  places: { name: 'login-places', maxKeys: 1 },
} as const);
export type KeyRingName = (typeof KEY_RINGS)[keyof typeof KEY_RINGS]['name'];

const KEY_BYTES = 32;
/** How long another process may use the ring as it was before. */
const CACHED_MS = 3_000;
/** A key is replaced for what is made this much later, when every process has read the new ring, whatever its clock says. */
const OVERLAP_MS = 60_000;

export interface RingKey {
  readonly key: string;
  /** Unix ms from which on a later key is used; null: this is the current one. */
  readonly until: number | null;
}

/** The oldest first, the current one last. */
export type Ring = readonly RingKey[];

const newKey = (): string => randomBytes(KEY_BYTES).toString('base64url');

/** Reads the value of a secret: JSON of a ring, or a key of an earlier version. */
export function parseRing(value: string): Ring {
  if (!value.startsWith('[')) return [{ key: value, until: null }];
  const ring: Ring = JSON.parse(value);
  return ring;
}

/** The key that made what was made at a time (Unix ms). */
export function keyAt(ring: Ring, at: number): string {
  const found = ring.find(({ until }) => until === null || at < until) ?? ring.at(-1);
  if (!found) throw new Error('a ring has no key');
  return found.key;
}

export const currentKey = (ring: Ring): string => keyAt(ring, Number.POSITIVE_INFINITY);

/** The ring with a new key. `end`: without the earlier ones, so that nothing they made stays valid. */
export function rotated(ring: Ring, rotation: { readonly now: number; readonly maxKeys: number; readonly end: boolean }): Ring {
  const { now, maxKeys, end } = rotation;
  const fresh: RingKey = { key: newKey(), until: null };
  if (end || maxKeys === 1) return [fresh];
  const latest = Math.max(now, ...ring.map(({ until }) => until ?? 0));
  const retired = ring.map(({ key, until }) => ({ key, until: until ?? latest + OVERLAP_MS }));
  return [...retired, fresh].slice(-maxKeys);
}

export interface KeyRingOptions {
  readonly accounts: Pick<AccountStore, 'secret'>;
  readonly name: KeyRingName;
  /** Ms that only ever grow. */
  readonly elapsedMs?: () => number;
}

/** A ring as the store has it, which is read again every few seconds. */
export class KeyRing {
  private readonly options: KeyRingOptions;
  private known: { readonly ring: Ring; readonly readAt: number } | null = null;
  private reading: Promise<Ring> | null = null;

  constructor(options: KeyRingOptions) {
    this.options = options;
  }

  /** Creates the ring if there is none. Rejects only if it was never read: a store that is away does not stop what is known. */
  async keys(): Promise<Ring> {
    const { known } = this;
    if (known && this.elapsedMs() - known.readAt < CACHED_MS) return known.ring;
    this.reading ??= this.read().finally(() => {
      this.reading = null;
    });
    return known ? this.reading.catch(() => known.ring) : this.reading;
  }

  /** The ring was changed: the next use reads it. */
  forget(): void {
    if (this.known) this.known = { ...this.known, readAt: Number.NEGATIVE_INFINITY };
  }

  private async read(): Promise<Ring> {
    const { accounts, name } = this.options;
    const readAt = this.elapsedMs();
    const ring = parseRing(await accounts.secret({ name, value: newKey() }));
    this.known = { ring, readAt };
    return ring;
  }

  private elapsedMs(): number {
    return (this.options.elapsedMs ?? (() => performance.now()))();
  }
}
