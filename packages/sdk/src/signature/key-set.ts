/**
 * The public keys of a queue instance, fetched from the server when a signature needs them, and cached. The duration
 * and size of a fetch are limited. An unknown key causes another fetch, with a rate limit.
 */
import { sharesPromises } from '../executor/runtime.js';
import type { PublicSigningKey } from './cryptography.js';

const FETCH_TIMEOUT_MS = 5_000;
const MAX_RESPONSE_BYTES = 64 * 1024;
const MAX_KEYS = 16;
/** How long keys are used before they are fetched again, in milliseconds. */
export const FRESH_MS = 10 * 60_000;
/** How long keys are used if they cannot be fetched, in milliseconds. */
export const STALE_MS = 60 * 60_000;
/** Shortest time between the end of a fetch and the next one, in milliseconds. */
export const REFETCH_MS = 30_000;

/** The reason why a key is not available. */
export interface KeyProblem {
  readonly problem: string;
}
/** Result of looking up a key; null if the queue instance has no such key. */
export type KeyLookup = PublicSigningKey | KeyProblem | null;

/** Dependencies of a key set. */
export interface KeySetOptions {
  readonly url: string;
  readonly fetch: typeof fetch;
  /** Monotonic time in milliseconds. */
  readonly elapsedMs: () => number;
  /** Whether a request may wait for the fetch of another request. If not, each one fetches the keys. */
  readonly sharesFetches: boolean;
}

/** A fetch that has not ended. */
interface PendingFetch {
  readonly ended: Promise<void>;
  readonly startedAt: number;
}

function isKey(value: unknown): value is PublicSigningKey {
  if (typeof value !== 'object' || value === null) return false;
  const { kty, crv, x, kid } = value as Readonly<Record<string, unknown>>;
  return kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' && typeof kid === 'string';
}

/** Parses a key set. Keys of other types are skipped. Throws if the text is not a key set. */
function readKeys(text: string): readonly PublicSigningKey[] {
  const value: unknown = JSON.parse(text);
  const keys: unknown = typeof value === 'object' && value !== null && 'keys' in value ? value.keys : undefined;
  if (!Array.isArray(keys)) throw new Error('the response is not a JSON Web Key Set');
  return keys.filter(isKey).slice(0, MAX_KEYS);
}

async function boundedText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return '';
  const decoder = new TextDecoder();
  let [text, receivedBytes] = ['', 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    receivedBytes += value.byteLength;
    if (receivedBytes > MAX_RESPONSE_BYTES) {
      await reader.cancel();
      throw new Error(`the response is larger than ${MAX_RESPONSE_BYTES} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** The cached key set at one URL. */
export class KeySet {
  private readonly options: KeySetOptions;
  private keys: readonly PublicSigningKey[] = [];
  private fetchedAt = Number.NEGATIVE_INFINITY;
  /** Time when the last fetch ended. A fetch whose request was canceled may never end. */
  private attemptEndedAt = Number.NEGATIVE_INFINITY;
  private problem: string | null = null;
  private pendingFetch: PendingFetch | null = null;

  constructor(options: KeySetOptions) {
    this.options = options;
  }

  /** Returns the key, or null if the queue instance has no such key. */
  find(kid: string): KeyLookup | Promise<KeyLookup> {
    const key = this.keyOf(kid);
    if (key && this.ageMs() < FRESH_MS) return key;
    const fetchEnded = this.fetchIfAllowed();
    return fetchEnded ? fetchEnded.then(() => this.lookUp(kid)) : this.lookUp(kid);
  }

  private keyOf(kid: string): PublicSigningKey | undefined {
    return this.keys.find((key) => key.kid === kid);
  }

  private ageMs(): number {
    return this.options.elapsedMs() - this.fetchedAt;
  }

  private lookUp(kid: string): KeyLookup {
    const key = this.ageMs() < STALE_MS ? this.keyOf(kid) : undefined;
    if (key) return key;
    const { url } = this.options;
    return this.problem === null ? null : { problem: `the public keys cannot be read from ${url}: ${this.problem}` };
  }

  /** Fetches the keys, or returns null if the last fetch was too recent. */
  private fetchIfAllowed(): Promise<void> | null {
    const now = this.options.elapsedMs();
    if (this.pendingFetch && now - this.pendingFetch.startedAt <= FETCH_TIMEOUT_MS) return this.pendingFetch.ended;
    if (now - this.attemptEndedAt < REFETCH_MS) return null;
    const ended = this.fetchKeys().finally(() => {
      this.attemptEndedAt = this.options.elapsedMs();
      if (this.pendingFetch?.ended === ended) this.pendingFetch = null;
    });
    if (this.options.sharesFetches) this.pendingFetch = { ended, startedAt: now };
    return ended;
  }

  private async fetchKeys(): Promise<void> {
    const { url, elapsedMs } = this.options;
    try {
      const headers = { Accept: 'application/json' };
      const response = await this.options.fetch(url, {
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
      });
      if (response.status !== 200) {
        await response.body?.cancel();
        throw new Error(`the response has the status ${response.status}`);
      }
      this.keys = readKeys(await boundedText(response));
      this.fetchedAt = elapsedMs();
      this.problem = null;
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
  }
}

const MAX_KEY_SETS = 16;
const keySets = new Map<string, KeySet>();

/** Returns the key set at a URL. All endpoints of this process share it. */
export function keySetAt(url: string): KeySet {
  const cachedKeySet = keySets.get(url);
  if (cachedKeySet) return cachedKeySet;
  if (keySets.size >= MAX_KEY_SETS) keySets.clear();
  const keySet = new KeySet({
    url,
    // Looked up at each call, so that test doubles of the global function are used.
    fetch: (input, init) => globalThis.fetch(input, init),
    elapsedMs: () => performance.now(),
    sharesFetches: sharesPromises(),
  });
  keySets.set(url, keySet);
  return keySet;
}
