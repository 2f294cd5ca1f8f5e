/** The addresses that the server listens on, and whether they are free. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Config } from '../config/config.js';
import { interfacesError, type ListenSettings, listenError } from './start-error.js';

/** Address of one part of the API, and the settings that define it. */
export interface Listener {
  readonly host: string;
  readonly port: number;
  readonly settings?: ListenSettings;
}

const MANAGEMENT_SETTING = 'EVERSTEP_MANAGEMENT_ADDRESS or --management-address';

/** Returns the address of the management API; null if it shares that of the runtime API. */
export function managementListener({ host, managementAddress }: Config): Listener | null {
  if (!managementAddress) return null;
  const settings = { host: MANAGEMENT_SETTING, port: MANAGEMENT_SETTING };
  return { host: managementAddress.host ?? host, port: managementAddress.port, settings };
}

/** Returns whether a proxy terminates TLS but is not trusted. Every client then seems to have the address of the proxy. */
export const lacksTrustedProxy = ({ publicUrl, dashboardUrl, trustedProxies, tls }: Config): boolean =>
  !tls && trustedProxies.length === 0 && [publicUrl, dashboardUrl].some((url) => url?.startsWith('https:'));

/** Returns the addresses of this machine that reach a socket bound to `address`, which may be a wildcard. */
export function addressesOf(address: string, readInterfaces = networkInterfaces): readonly string[] {
  if (address !== '0.0.0.0' && address !== '::') return [address];
  return Object.values(readInterfaces()).flatMap((interfaces) => (interfaces ?? []).map((entry) => entry.address));
}

/**
 * Checks that the ports are free, and that the addresses behind a wildcard are readable: calls to them are blocked. Otherwise,
 * rejects with StartError. Called before the store is opened, so that a failed start leaves no files. If another program takes
 * a port later, listening fails.
 */
export async function checkListeners(listeners: readonly (Listener | null)[], readInterfaces = networkInterfaces): Promise<void> {
  for (const listener of listeners) {
    if (!listener) continue;
    const { host, port, settings } = listener;
    try {
      addressesOf(host, readInterfaces);
    } catch (error) {
      throw interfacesError(host, error, settings);
    }
    if (port === 0) continue;
    const server = createServer();
    try {
      await once(server.listen({ host, port }), 'listening');
    } catch (error) {
      throw listenError(host, port, error, settings);
    }
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Returns the URL at which clients on this machine reach a server bound to `host`. */
export function localUrl({ tls }: Pick<Config, 'tls'>, host: string, port: number): string {
  const reachableHost = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `${tls ? 'https' : 'http'}://${reachableHost.includes(':') ? `[${reachableHost}]` : reachableHost}:${port}`;
}
