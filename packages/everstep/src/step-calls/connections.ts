/** Connections to endpoints: kept alive, bounded for each origin and in the number of origins. */
import { isIP } from 'node:net';
import { buildConnector, Pool } from 'undici';
import { LIMITS } from '../config/limits.js';
import type { Log } from '../ports/log.js';
import { PeriodicLog } from '../ports/periodic-log.js';
import { type AddressPolicy, BlockedAddressError, destinationOf } from './address-policy.js';
import type { EgressProxy } from './egress-proxy.js';
import { networkErrorCode } from './network-errors.js';

/** Origins with a pool of their own; beyond it the one that was idle for longest is closed. */
const MAX_ORIGINS = 256;
export const CONNECT_TIMEOUT_MS = 10_000;
/** Shorter than the 5 s after which Node's own server drops an idle connection, unless the server says more. */
const IDLE_CONNECTION_MS = 4_000;
const LONGEST_IDLE_CONNECTION_MS = 60_000;
const MAX_RESPONSE_HEADER_BYTES = 32 * 1024;

/** The limit of file descriptors of the process, and that of the machine. */
const SHORTAGE_CODES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);
export const SHORTAGE_RETRY_MS = 250;

/** Of the origin of a URL, as the options of a connection name its parts. */
const originOf = ({ protocol, hostname, port }: buildConnector.Options): string =>
  new URL(`${protocol}//${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`).origin;

export interface ConnectionsOptions {
  /** Leads to all destinations but those that an allow list names. Closed with the connections. */
  readonly egressProxy?: EgressProxy | null;
  readonly connectOnce?: buildConnector.connector;
}

interface Entry {
  readonly pool: Pool;
  inUse: number;
}

export class Connections {
  /** By policy and origin, in the order of last use, oldest first. */
  private readonly entries = new Map<string, Entry>();
  private readonly connectOnce: buildConnector.connector | undefined;
  private readonly egressProxy: EgressProxy | null;

  /** Connections that wait for a free descriptor, with their origins. */
  private readonly retries = new Map<NodeJS.Timeout, string>();
  private readonly shortage: PeriodicLog;

  /** `connectOnce` makes a connection; replaced in tests. */
  constructor(log: Log, { egressProxy = null, connectOnce }: ConnectionsOptions = {}) {
    this.shortage = new PeriodicLog(log, 'no free file descriptor for an endpoint connection, retrying');
    this.connectOnce = connectOnce;
    this.egressProxy = egressProxy;
  }

  get origins(): number {
    return this.entries.size;
  }

  /**
   * The pool for one exchange; `release` must be called when that is over. A connection is shared by those who have one
   * policy: another one may forbid the address that it leads to.
   */
  acquire(policy: AddressPolicy, origin: string): { readonly pool: Pool; readonly release: () => void } {
    const key = `${policy.scope} ${origin}`;
    const found = this.entries.get(key);
    if (found) this.entries.delete(key);
    else this.makeRoom();
    const entry = found ?? { pool: this.open(policy, origin), inUse: 0 };
    this.entries.set(key, entry);
    entry.inUse++;
    return {
      pool: entry.pool,
      release: () => {
        entry.inUse--;
      },
    };
  }

  async close(): Promise<void> {
    const pools = [...this.entries.values()].map(({ pool }) => pool);
    this.entries.clear();
    for (const retry of this.retries.keys()) clearTimeout(retry);
    await Promise.all([...pools.map((pool) => pool.destroy()), this.egressProxy?.close()]);
  }

  /** Whether connections to the origin lead through the egress proxy, which looks its name up. */
  isProxied(policy: AddressPolicy, origin: string): boolean {
    return this.egressProxy !== null && !policy.isListed(origin);
  }

  /** Whether a connection to the origin waits for a free descriptor. */
  isShort(origin: string): boolean {
    for (const other of this.retries.values()) if (other === origin) return true;
    return false;
  }

  noteShortage(code: string): void {
    this.shortage.warn({ error: code });
  }

  /**
   * A process without a free descriptor says nothing of the endpoint, so it is no failed attempt: the connection is tried again
   * until the timeout of the delivery.
   */
  private withRetries(connect: buildConnector.connector): buildConnector.connector {
    const attempt: buildConnector.connector = (options, callback) =>
      connect(options, (...outcome) => {
        const [error] = outcome;
        if (!error || !SHORTAGE_CODES.has(networkErrorCode(error) ?? '')) return callback(...outcome);
        this.noteShortage(networkErrorCode(error) ?? '');
        const retry = setTimeout(() => {
          this.retries.delete(retry);
          attempt(options, callback);
        }, SHORTAGE_RETRY_MS);
        this.retries.set(retry, originOf(options));
      });
    return attempt;
  }

  /** Judges the address of each connection. */
  private connector(policy: AddressPolicy, origin: string): buildConnector.connector {
    const { host, port } = destinationOf(new URL(origin));
    const proxied = this.isProxied(policy, origin) ? this.egressProxy?.connect : undefined;
    const direct = () => buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: policy.lookupAt(port) });
    const connect = this.withRetries(this.connectOnce ?? proxied ?? direct());
    return (options, callback) => {
      // A literal address never goes through `lookup`.
      const verdict = isIP(host) === 0 ? policy.check(origin) : policy.checkAddress(host, host, port);
      if (verdict.ok) connect(options, callback);
      else queueMicrotask(() => callback(new BlockedAddressError(verdict), null));
    };
  }

  private open(policy: AddressPolicy, origin: string): Pool {
    return new Pool(origin, {
      connect: this.connector(policy, origin),
      connections: LIMITS.maxConnectionsPerHost,
      pipelining: 1,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: LONGEST_IDLE_CONNECTION_MS,
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
      // The caller's one timer covers the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  private makeRoom(): void {
    for (const [key, { pool, inUse }] of this.entries) {
      if (this.entries.size < MAX_ORIGINS) return;
      if (inUse > 0) continue;
      this.entries.delete(key);
      void pool.close();
    }
  }
}
