/**
 * Resolves host names, with a cache. Deliveries that wait for the same name share one lookup. Each account has a fair
 * share of the concurrent lookups, so slow name servers of one account do not delay the others.
 */
import type { LookupAddress } from 'node:dns';
import { closeSync, openSync } from 'node:fs';
import { isIP } from 'node:net';
import { FairShare } from '../../fairness/fair-share.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { LookUp, LookupResult } from './dns-servers.js';
import type { HostsFile } from './hosts-file.js';

/** Limits of the cache and of lookups. */
export interface NameLimits {
  readonly maxLookups: number;
  /** Timeout of a lookup. */
  readonly lookupTimeoutMs: number;
  /** Minimum time for which a result is cached. It is cached for its TTL, limited to this range. */
  readonly minFreshMs: number;
  readonly maxFreshMs: number;
  /** Cache time for a name that does not exist. */
  readonly negativeFreshMs: number;
  /** Cache time for a failed lookup. */
  readonly failureFreshMs: number;
  /** Maximum time for which expired addresses are used if the name cannot be looked up. */
  readonly maxStaleMs: number;
  readonly maxNames: number;
}

export interface NameResolverOptions {
  readonly lookUp: LookUp;
  readonly hosts: Pick<HostsFile, 'find'>;
  readonly owners: InstanceOwners;
  readonly limits: NameLimits;
  /** Returns the time of a monotonic clock in ms. */
  readonly elapsedMs: () => number;
  readonly setTimer: (delayMs: number, fire: () => void) => () => void;
  /** Returns whether this process has no free file descriptor; replaced in tests. */
  readonly isShortOfDescriptors?: () => boolean;
}

export type NameResolution =
  | { readonly kind: 'found'; readonly addresses: readonly LookupAddress[] }
  | { readonly kind: 'failed'; readonly error: NameError };

/** Reports the reason why a name has no address. */
export class NameError extends Error {
  override readonly name = 'NameError';
  readonly code: string;
  constructor(hostname: string, code: string) {
    super(`lookup of ${hostname} failed (${code})`);
    this.code = code;
  }
  /** Returns whether this process could not send the query. The name is then not at fault. */
  get isShortage(): boolean {
    return this.code === 'EMFILE';
  }
}

interface CachedName {
  readonly resolution: NameResolution;
  readonly freshUntil: number;
  /** The latest addresses, usable until `staleUntil` if lookups fail. */
  readonly addresses: readonly LookupAddress[] | null;
  readonly staleUntil: number;
}

interface PendingLookup {
  readonly hostname: string;
  readonly instanceId: string;
  readonly resolution: Promise<NameResolution>;
  readonly settle: (resolution: NameResolution) => void;
  isStarted: boolean;
}

const LOOPBACK: readonly LookupAddress[] = Object.freeze([
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]);

/**
 * Returns whether no file descriptor is free. This distinguishes a failed socket of the resolver from a server that refuses the
 * query, which have the same error codes.
 */
function hasNoDescriptor(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE');
  }
}

/** Returns the error code of a failed lookup for the connection. */
const codeOf = (lookup: Exclude<LookupResult, { readonly kind: 'found' }>): string => {
  if (lookup.kind === 'no-such-name') return lookup.hasRecords ? 'ENODATA' : 'ENOTFOUND';
  return lookup.code === 'ETIMEOUT' ? 'ETIMEOUT' : 'EAI_AGAIN';
};

export class NameResolver {
  private readonly options: NameResolverOptions;
  private readonly share: FairShare;
  /** Cached names, least recently used first. */
  private readonly cachedNames = new Map<string, CachedName>();
  private readonly pendingLookups = new Map<string, PendingLookup>();
  /** Lookups that wait for a share, by account; the account to serve next comes first. */
  private readonly queuedLookups = new Map<string, Set<PendingLookup>>();

  constructor(options: NameResolverOptions) {
    this.options = options;
    this.share = new FairShare(options.limits.maxLookups, options.owners);
  }

  /** Number of cached names. */
  get size(): number {
    return this.cachedNames.size;
  }

  /** Returns the cached result, or null if a lookup is required. */
  recall(hostname: string): NameResolution | null {
    const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
    const hostsEntry = this.options.hosts.find(name);
    if (hostsEntry) return { kind: 'found', addresses: hostsEntry.map((address) => ({ address, family: isIP(address) })) };
    if (name === 'localhost' || name.endsWith('.localhost')) return { kind: 'found', addresses: LOOPBACK };
    const entry = this.cachedNames.get(hostname);
    if (!entry || entry.freshUntil <= this.options.elapsedMs()) return null;
    this.cachedNames.delete(hostname);
    this.cachedNames.set(hostname, entry);
    return entry.resolution;
  }

  /** Resolves a lowercase name. The lookup waits until the fair share of the account of `instanceId` allows it. */
  find(hostname: string, instanceId: string): Promise<NameResolution> | NameResolution {
    const cachedResult = this.recall(hostname);
    if (cachedResult) return cachedResult;
    let pendingLookup = this.pendingLookups.get(hostname);
    if (!pendingLookup) {
      let settle: (resolution: NameResolution) => void = () => {};
      const resolution = new Promise<NameResolution>((resolve) => {
        settle = resolve;
      });
      pendingLookup = { hostname, instanceId, resolution, settle, isStarted: false };
      this.pendingLookups.set(hostname, pendingLookup);
      if (this.share.allows(instanceId)) this.start(pendingLookup, instanceId);
      else this.enqueue(pendingLookup);
    } else if (!pendingLookup.isStarted && this.share.allows(instanceId)) {
      // Another account with a free share is waiting for the same name.
      this.dequeue(pendingLookup);
      this.start(pendingLookup, instanceId);
    }
    return pendingLookup.resolution;
  }

  private start(pendingLookup: PendingLookup, instanceId: string): void {
    const { lookUp, setTimer, limits } = this.options;
    const { hostname } = pendingLookup;
    pendingLookup.isStarted = true;
    this.share.take(instanceId);
    const cancel = setTimer(limits.lookupTimeoutMs, () => this.settle(pendingLookup, { kind: 'failed', code: 'ETIMEOUT' }));
    const unexpectedFailure = (): LookupResult => ({ kind: 'failed', code: 'EAI_FAIL' });
    void lookUp(hostname)
      .catch(unexpectedFailure)
      .then((lookup) => {
        cancel();
        this.share.give(instanceId);
        this.settle(pendingLookup, lookup);
        this.startQueued();
      });
  }

  private settle(pendingLookup: PendingLookup, lookup: LookupResult): void {
    const { hostname, settle } = pendingLookup;
    // The lookup timed out earlier, and may have been repeated. A late result is still cached.
    if (this.pendingLookups.get(hostname) !== pendingLookup) {
      if (lookup.kind === 'found') this.cacheResult(hostname, lookup);
      return;
    }
    this.pendingLookups.delete(hostname);
    const isShortOfDescriptors = this.options.isShortOfDescriptors ?? hasNoDescriptor;
    if (lookup.kind === 'failed' && isShortOfDescriptors()) settle({ kind: 'failed', error: new NameError(hostname, 'EMFILE') });
    else settle(this.cacheResult(hostname, lookup));
  }

  private cacheResult(hostname: string, lookup: LookupResult): NameResolution {
    const { limits, elapsedMs } = this.options;
    const now = elapsedMs();
    const previous = this.cachedNames.get(hostname);
    this.cachedNames.delete(hostname);
    const entry = this.cacheEntryAfter(hostname, lookup, previous, now);
    this.cachedNames.set(hostname, entry);
    const [oldest] = this.cachedNames.keys();
    if (oldest !== undefined && this.cachedNames.size > limits.maxNames) this.cachedNames.delete(oldest);
    return entry.resolution;
  }

  private cacheEntryAfter(hostname: string, lookup: LookupResult, previous: CachedName | undefined, now: number): CachedName {
    const { minFreshMs, maxFreshMs, negativeFreshMs, failureFreshMs, maxStaleMs } = this.options.limits;
    if (lookup.kind === 'found') {
      const { addresses, ttlMs } = lookup;
      const freshUntil = now + Math.min(Math.max(ttlMs ?? 0, minFreshMs), maxFreshMs);
      return { resolution: { kind: 'found', addresses }, freshUntil, addresses, staleUntil: freshUntil + maxStaleMs };
    }
    const failure = { kind: 'failed', error: new NameError(hostname, codeOf(lookup)) } as const;
    if (lookup.kind === 'no-such-name')
      return { resolution: failure, freshUntil: now + negativeFreshMs, addresses: null, staleUntil: 0 };
    const freshUntil = now + failureFreshMs;
    if (previous?.addresses && previous.staleUntil > now) {
      const { addresses, staleUntil } = previous;
      return { resolution: { kind: 'found', addresses }, freshUntil, addresses, staleUntil };
    }
    return { resolution: failure, freshUntil, addresses: null, staleUntil: 0 };
  }

  private enqueue(pendingLookup: PendingLookup): void {
    const accountId = this.options.owners.accountOf(pendingLookup.instanceId);
    const queue = this.queuedLookups.get(accountId);
    if (queue) queue.add(pendingLookup);
    else this.queuedLookups.set(accountId, new Set([pendingLookup]));
  }

  private dequeue(pendingLookup: PendingLookup): void {
    for (const [accountId, queue] of this.queuedLookups) {
      if (!queue.delete(pendingLookup)) continue;
      if (queue.size === 0) this.queuedLookups.delete(accountId);
      return;
    }
  }

  private startQueued(): void {
    // A served account moves to the end, so this loop visits it again.
    for (const [accountId, queue] of this.queuedLookups) {
      const [firstLookup] = queue;
      if (!firstLookup || !this.share.allows(firstLookup.instanceId)) continue;
      queue.delete(firstLookup);
      this.queuedLookups.delete(accountId);
      if (queue.size > 0) this.queuedLookups.set(accountId, queue);
      this.start(firstLookup, firstLookup.instanceId);
    }
  }
}
