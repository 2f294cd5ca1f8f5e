/** Connects through an HTTP proxy. Each connection is a CONNECT tunnel with TLS to the destination inside it. */
import { Socket } from 'node:net';
import { buildConnector, Pool } from 'undici';
import type { Log } from '../../ports/log.js';
import { ThrottledLog } from '../../ports/throttled-log.js';
import { networkErrorCode } from './network-errors.js';

export interface EgressProxyOptions {
  /** URL with the scheme `http:` or `https:`, with credentials if the proxy requires them. */
  readonly url: string;
  /** Timeout for connecting to the proxy, and to the destination behind it. */
  readonly connectTimeoutMs: number;
  readonly log: Log;
  /** Trusted certificates that replace those of the machine. */
  readonly ca?: string;
}

export interface EgressProxy {
  /** Connects to a destination. */
  readonly connect: buildConnector.connector;
  close(): Promise<void>;
}

/** Reports that the tunnel could not be opened. The caller sees the message, so it does not contain the proxy's address. */
export class EgressProxyError extends Error {
  override readonly name = 'EgressProxyError';
  readonly code = 'EVERSTEP_EGRESS_PROXY';
}

function credentialsOf({ username, password }: URL): string | null {
  if (username === '' && password === '') return null;
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(text).toString('base64')}`;
}

export function createEgressProxy({ url, connectTimeoutMs, log, ca }: EgressProxyOptions): EgressProxy {
  const { origin } = new URL(url);
  const authorization = credentialsOf(new URL(url));
  const tls = { timeout: connectTimeoutMs, ...(ca === undefined ? {} : { ca }) };
  const proxyPool = new Pool(origin, { connect: buildConnector(tls), headersTimeout: connectTimeoutMs, bodyTimeout: 0 });
  const startTls = buildConnector(tls);
  const failureLog = new ThrottledLog(log, 'egress proxy connection failed');

  const connect: buildConnector.connector = (options, callback) => {
    const host = options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname;
    const authority = `${host}:${options.port === '' ? (options.protocol === 'https:' ? 443 : 80) : options.port}`;
    const headers = { host: authority, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) };
    proxyPool.connect({ path: authority, headers }, (error, tunnel) => {
      if (error) {
        failureLog.warn({ proxy: origin, error: networkErrorCode(error) ?? error.message });
        return callback(new EgressProxyError("Everstep's egress proxy is unreachable"), null);
      }
      const { socket, statusCode } = tunnel;
      if (statusCode < 200 || statusCode > 299 || !(socket instanceof Socket)) {
        socket.on('error', () => {}).destroy();
        failureLog.warn({ proxy: origin, status: statusCode });
        return callback(new EgressProxyError(`Everstep's egress proxy returned ${statusCode}`), null);
      }
      if (options.protocol === 'https:') startTls({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    });
  };

  return { connect, close: () => proxyPool.destroy() };
}
