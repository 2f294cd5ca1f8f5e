/** Connections to endpoints: kept alive, bounded for each origin and in the number of origins. */
import { isIP } from 'node:net';
import { buildConnector, Pool } from 'undici';
import { LIMITS } from '../config/limits.js';
import type { Log } from '../ports/log.js';
import { PeriodicLog } from '../ports/periodic-log.js';
import { type AddressPolicy, BlockedAddressError } from './address-policy.js';
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
const SHORTAGE_RETRY_MS = 250;

interface Entry {
  readonly pool: Pool;
  inUse: number;
}

export class Connections {
  /** In the order of last use, oldest first. */
  private readonly entries = new Map<string, Entry>();
  private readonly connect: buildConnector.connector;

  private readonly retries = new Set<NodeJS.Timeout>();
  private readonly shortage: PeriodicLog;

  /** `connectOnce` makes a connection; replaced in tests. */
  constructor(policy: AddressPolicy, log: Log, connectOnce?: buildConnector.connector) {
    this.shortage = new PeriodicLog(log, 'no free file descriptor for a connection to an endpoint, retrying');
    const connect = this.withRetries(connectOnce ?? buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: policy.lookup }));
    this.connect = (options, callback) => {
      // A literal address never goes through `lookup`.
      const host = options.hostname.replace(/^\[|\]$/g, '');
      const verdict =
        isIP(host) === 0 ? policy.check(`${options.protocol}//${options.hostname}/`) : policy.checkAddress(host, host);
      if (verdict.ok) connect(options, callback);
      else queueMicrotask(() => callback(new BlockedAddressError(verdict.message), null));
    };
  }

  get origins(): number {
    return this.entries.size;
  }

  /** The pool for one exchange; `release` must be called when that is over. */
  acquire(origin: string): { readonly pool: Pool; readonly release: () => void } {
    const found = this.entries.get(origin);
    if (found) this.entries.delete(origin);
    else this.makeRoom();
    const entry = found ?? { pool: this.open(origin), inUse: 0 };
    this.entries.set(origin, entry);
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
    for (const retry of this.retries) clearTimeout(retry);
    await Promise.all(pools.map((pool) => pool.destroy()));
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
        this.shortage.warn({ error: networkErrorCode(error) });
        const retry = setTimeout(() => {
          this.retries.delete(retry);
          attempt(options, callback);
        }, SHORTAGE_RETRY_MS);
        this.retries.add(retry);
      });
    return attempt;
  }

  private open(origin: string): Pool {
    return new Pool(origin, {
      connect: this.connect,
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
    for (const [origin, { pool, inUse }] of this.entries) {
      if (this.entries.size < MAX_ORIGINS) return;
      if (inUse > 0) continue;
      this.entries.delete(origin);
      void pool.close();
    }
  }
}
