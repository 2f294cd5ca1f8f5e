/** Where the service listens, and whether it can. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../config/config.js';
import { type ListenSettings, listenError } from './start-error.js';

/** Where a part of the API listens, and the settings that say so. */
export interface Listener {
  readonly host: string;
  readonly port: number;
  readonly settings?: ListenSettings;
}

const MANAGEMENT_SETTING = 'EVERSTEP_MANAGEMENT_ADDRESS or --management-address';

/** Of the management API, when it has an address of its own. */
export function managementListener({ host, managementAddress }: Config): Listener | null {
  if (!managementAddress) return null;
  const settings = { host: MANAGEMENT_SETTING, port: MANAGEMENT_SETTING };
  return { host: managementAddress.host ?? host, port: managementAddress.port, settings };
}

/**
 * Rejects with StartError when a port is taken. Asked before the store is opened, so that such a start leaves nothing
 * behind; a port that is taken after that is found when the service listens.
 */
export async function findPortsFree(listeners: readonly (Listener | null)[]): Promise<void> {
  for (const listener of listeners) {
    if (!listener || listener.port === 0) continue;
    const { host, port, settings } = listener;
    const server = createServer();
    try {
      await once(server.listen({ host, port }), 'listening');
    } catch (error) {
      throw listenError(host, port, error, settings);
    }
    await new Promise((resolve) => server.close(resolve));
  }
}
