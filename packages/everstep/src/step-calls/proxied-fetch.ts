/** Sends requests of the server itself, such as those to the identity provider, through the egress proxy. */
import { Agent, buildConnector, fetch, type RequestInit } from 'undici';
import type { Log } from '../ports/log.js';
import { createAddressPolicy } from './addresses/address-policy.js';
import { CONNECT_TIMEOUT_MS } from './exchanges/connections.js';
import { createEgressProxy, type EgressProxyOptions } from './exchanges/egress-proxy.js';

export interface ProxiedFetch {
  fetch(url: string, request: RequestInit): ReturnType<typeof fetch>;
  close(): Promise<void>;
}

export interface ProxiedFetchOptions {
  readonly egressProxy: Pick<EgressProxyOptions, 'url' | 'ca'>;
  /** Destinations that are called directly. This machine is always called directly. */
  readonly allow: readonly string[];
  readonly log: Log;
}

export function createProxiedFetch({ egressProxy, allow, log }: ProxiedFetchOptions): ProxiedFetch {
  const proxy = createEgressProxy({ ...egressProxy, connectTimeoutMs: CONNECT_TIMEOUT_MS, log });
  const policy = createAddressPolicy({ allowLoopback: true, allow, resolvesNames: false });
  const directConnect = buildConnector({ timeout: CONNECT_TIMEOUT_MS });
  const dispatcher = new Agent({
    connect(options, callback) {
      const { protocol, hostname, port } = options;
      const host = hostname.includes(':') ? `[${hostname.replace(/^\[|\]$/g, '')}]` : hostname;
      const connect = policy.isListed(`${protocol}//${host}:${port}/`) ? directConnect : proxy.connect;
      connect(options, callback);
    },
  });
  return {
    fetch: (url, request) => fetch(url, { ...request, dispatcher }),
    async close() {
      await dispatcher.destroy();
      await proxy.close();
    },
  };
}
