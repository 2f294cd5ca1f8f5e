/**
 * Signed cursors. They are opaque to clients and bound to the operation, the queue instance and the filters. A cursor that was
 * modified or is used elsewhere is rejected.
 * Keeps invariant 36.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../contract/error-codes.js';
import type { AccountStore } from '../../ports/stores/store.js';
import { KEY_RINGS, KeyRing, keyAt } from '../../secrets/key-ring.js';

const SEAL_BYTES = 16;

/** The request that a cursor is valid for. The order of `filters` does not matter. */
export interface CursorScope {
  readonly operation: string;
  readonly instanceId: string;
  readonly filters: Readonly<Record<string, unknown>>;
}

export interface CursorState {
  /** Position after which the listing continues. */
  readonly after: string;
  /** Entries after this position are omitted; null for no bound. */
  readonly horizon: string | null;
  /** Number of entries that may still be returned; null for all. */
  readonly remaining: number | null;
}

export interface CursorSeal {
  /** Reads the secret, or creates it. After that, cursors do not need the store. */
  prepare(): Promise<void>;
  /** Returns a cursor for a state. */
  seal(scope: CursorScope, state: CursorState): Promise<string>;
  /** Returns the state of a cursor. Throws ApiError `bad-cursor`. */
  open(scope: CursorScope, cursor: string): Promise<CursorState>;
}

function canonicalValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonicalValue).sort();
  if (typeof value !== 'object' || value === null) return value;
  const presentFields = Object.entries(value).filter(([, item]) => item !== undefined);
  return presentFields.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, item]) => [name, canonicalValue(item)]);
}

function stateOf(text: string): CursorState | null {
  const [after, horizon, remaining]: readonly unknown[] = JSON.parse(text);
  if (typeof after !== 'string' || (typeof horizon !== 'string' && horizon !== null)) return null;
  return typeof remaining === 'number' || remaining === null ? { after, horizon, remaining } : null;
}

export function createCursorSeal(accounts: Pick<AccountStore, 'findOrCreateSecret'>): CursorSeal {
  const ring = new KeyRing({ accounts, name: KEY_RINGS.cursors.name });

  function mac(key: string, scope: CursorScope, payload: string): Buffer {
    const signedText = JSON.stringify([scope.operation, scope.instanceId, canonicalValue(scope.filters), payload]);
    return createHmac('sha256', key).update(signedText).digest().subarray(0, SEAL_BYTES);
  }

  return {
    async prepare() {
      await ring.keys();
    },
    async seal(scope, state) {
      const payload = Buffer.from(JSON.stringify([state.after, state.horizon, state.remaining])).toString('base64url');
      return `${payload}.${mac(keyAt(await ring.keys(), Date.now()), scope, payload).toString('base64url')}`;
    },
    async open(scope, cursor) {
      const badCursor = new ApiError(
        'bad-cursor',
        'the cursor is invalid: send it exactly as it was returned, to the same operation with the same filters, or omit it to start from the beginning',
      );
      const [payload = '', seal = '', ...extraParts] = cursor.split('.');
      const receivedMac = Buffer.from(seal, 'base64url');
      const keys = await ring.keys();
      // Base64url has several encodings of the last bits; only the canonical one is accepted.
      const isCanonical = receivedMac.toString('base64url') === seal && extraParts.length === 0;
      const isAuthentic = keys.some(
        ({ key }) => receivedMac.length === SEAL_BYTES && timingSafeEqual(receivedMac, mac(key, scope, payload)),
      );
      if (!isCanonical || !isAuthentic) throw badCursor;
      const state = stateOf(Buffer.from(payload, 'base64url').toString());
      if (!state) throw badCursor;
      return state;
    },
  };
}
