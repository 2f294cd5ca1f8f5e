/** Keep-alive connections to endpoints, limited per origin and in the number of origins. */
import { isIP } from 'node:net';
import { buildConnector, Pool } from 'undici';
import { LIMITS } from '../../config/limits.js';
import type { Log } from '../../ports/log.js';
import { ThrottledLog } from '../../ports/throttled-log.js';
import { type AddressPolicy, BlockedAddressError, destinationOf } from '../addresses/address-policy.js';
import type { EgressProxy } from './egress-proxy.js';
import { networkErrorCode } from './network-errors.js';

/** Maximum number of origins with a connection pool. Above it, the pool that was idle longest is closed. */
const MAX_ORIGINS = 256;
export const CONNECT_TIMEOUT_MS = 10_000;
/**
 * Time for which an idle connection is kept. It is shorter than the 5 s after which Node servers close one, unless the server
 * announces a longer time.
 */
const IDLE_CONNECTION_MS = 4_000;
const MAX_IDLE_CONNECTION_MS = 60_000;
const MAX_RESPONSE_HEADER_BYTES = 32 * 1024;

/** Error codes for the file descriptor limits of the process and of the machine. */
const SHORTAGE_CODES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);
export const SHORTAGE_RETRY_MS = 250;

/** Returns the origin to which the options of a connection refer. */
const originOf = ({ protocol, hostname, port }: buildConnector.Options): string =>
  new URL(`${protocol}//${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`).origin;

export interface ConnectionsOptions {
  /** Egress proxy for all destinations that no allow list contains. It is closed with the connections. */
  readonly egressProxy?: EgressProxy | null;
  readonly connectOnce?: buildConnector.connector;
}

interface PoolEntry {
  readonly pool: Pool;
  activeExchanges: number;
}

export class Connections {
  /** Pools by policy and origin, least recently used first. */
  private readonly entries = new Map<string, PoolEntry>();
  private readonly connectOnce: buildConnector.connector | undefined;
  private readonly egressProxy: EgressProxy | null;

  /** Timers of connections that wait for a free file descriptor, with their origins. */
  private readonly retryTimers = new Map<NodeJS.Timeout, string>();
  private readonly shortageLog: ThrottledLog;

  /** Creates the connections. `connectOnce` creates a connection; replaced in tests. */
  constructor(log: Log, { egressProxy = null, connectOnce }: ConnectionsOptions = {}) {
    this.shortageLog = new ThrottledLog(log, 'no free file descriptor for an endpoint connection, retrying in 250 ms');
    this.connectOnce = connectOnce;
    this.egressProxy = egressProxy;
  }

  get originCount(): number {
    return this.entries.size;
  }

  /**
   * Returns the pool for one exchange. Call `release` when the exchange ends. Only users of the same policy share
   * connections, because another policy may deny the connected address.
   */
  acquire(policy: AddressPolicy, origin: string): { readonly pool: Pool; readonly release: () => void } {
    const key = `${policy.scope} ${origin}`;
    const existingEntry = this.entries.get(key);
    if (existingEntry) this.entries.delete(key);
    else this.evictIdlePools();
    const entry = existingEntry ?? { pool: this.createPool(policy, origin), activeExchanges: 0 };
    this.entries.set(key, entry);
    entry.activeExchanges++;
    return {
      pool: entry.pool,
      release: () => {
        entry.activeExchanges--;
      },
    };
  }

  async close(): Promise<void> {
    const pools = [...this.entries.values()].map(({ pool }) => pool);
    this.entries.clear();
    for (const retryTimer of this.retryTimers.keys()) clearTimeout(retryTimer);
    await Promise.all([...pools.map((pool) => pool.destroy()), this.egressProxy?.close()]);
  }

  /** Returns whether connections to the origin use the egress proxy, which then resolves the name. */
  isProxied(policy: AddressPolicy, origin: string): boolean {
    return this.egressProxy !== null && !policy.isListed(origin);
  }

  /** Returns whether a connection to the origin waits for a free file descriptor. */
  isWaitingForDescriptor(origin: string): boolean {
    for (const waitingOrigin of this.retryTimers.values()) if (waitingOrigin === origin) return true;
    return false;
  }

  logShortage(code: string): void {
    this.shortageLog.warn({ error: code });
  }

  /**
   * Retries connections that fail for lack of a file descriptor, until the timeout of the delivery. The shortage is
   * not the endpoint's fault, so it does not count as a failed attempt.
   */
  private withRetries(connect: buildConnector.connector): buildConnector.connector {
    const attempt: buildConnector.connector = (options, callback) =>
      connect(options, (...outcome) => {
        const [error] = outcome;
        if (!error || !SHORTAGE_CODES.has(networkErrorCode(error) ?? '')) return callback(...outcome);
        this.logShortage(networkErrorCode(error) ?? '');
        const retryTimer = setTimeout(() => {
          this.retryTimers.delete(retryTimer);
          attempt(options, callback);
        }, SHORTAGE_RETRY_MS);
        this.retryTimers.set(retryTimer, originOf(options));
      });
    return attempt;
  }

  /** Returns a connector that checks the address of each connection. */
  private connector(policy: AddressPolicy, origin: string): buildConnector.connector {
    const { host, port } = destinationOf(new URL(origin));
    const proxyConnect = this.isProxied(policy, origin) ? this.egressProxy?.connect : undefined;
    const directConnect = () => buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: policy.lookupAt(port) });
    const connect = this.withRetries(this.connectOnce ?? proxyConnect ?? directConnect());
    return (options, callback) => {
      // `lookup` is not called for a literal IP address.
      const verdict = isIP(host) === 0 ? policy.check(origin) : policy.checkAddress(host, host, port);
      if (verdict.ok) connect(options, callback);
      else queueMicrotask(() => callback(new BlockedAddressError(verdict), null));
    };
  }

  private createPool(policy: AddressPolicy, origin: string): Pool {
    return new Pool(origin, {
      connect: this.connector(policy, origin),
      connections: LIMITS.maxConnectionsPerHost,
      pipelining: 1,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: MAX_IDLE_CONNECTION_MS,
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
      // The timer of the exchange covers the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  private evictIdlePools(): void {
    for (const [key, { pool, activeExchanges }] of this.entries) {
      if (this.entries.size < MAX_ORIGINS) return;
      if (activeExchanges > 0) continue;
      this.entries.delete(key);
      void pool.close();
    }
  }
}
