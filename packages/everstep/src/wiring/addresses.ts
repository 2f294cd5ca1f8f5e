/**
 * The addresses of the server. They are final only when the server listens, because the operating system may choose the port.
 * Nothing reads them before that.
 */
import { localUrl } from '../bootstrap/listeners.js';
import type { Config } from '../config/config.js';
import type { OwnListener } from '../step-calls/addresses/address-policy.js';

/** Addresses on which the server listens. */
export interface ListeningAddresses {
  /** URL at which this machine reaches the runtime API. */
  readonly url: string;
  /** URL at which this machine reaches the management API and the dashboard. */
  readonly managementUrl: string;
  readonly listeners: readonly OwnListener[];
}

/** Returns the URL at which users reach the dashboard, as far as the configuration states it. */
function configuredDashboardUrl({ dashboardUrl, managementAddress, publicUrl, signIn }: Config): string | null {
  if (dashboardUrl !== null) return dashboardUrl;
  // The public URL does not serve the dashboard if the management API has its own address.
  if (publicUrl !== null && managementAddress === null) return publicUrl;
  return signIn?.redirectUrl ? new URL(signIn.redirectUrl).origin : null;
}

/** Returns whether clients use https for an API, according to its configured URL. A proxy may report something else. */
export function usesHttps(config: Config, serves: 'runtime' | 'management' | 'both'): boolean {
  const url = serves === 'runtime' ? config.publicUrl : (configuredDashboardUrl(config) ?? config.publicUrl);
  return url?.startsWith('https:') ?? false;
}

export class Addresses {
  private readonly config: Config;
  private currentAddresses: ListeningAddresses;

  constructor(config: Config) {
    this.config = config;
    this.currentAddresses = { url: localUrl(config, config.host, config.port), managementUrl: '', listeners: [] };
  }

  /** Called when the server listens. */
  set(addresses: ListeningAddresses): void {
    this.currentAddresses = addresses;
  }

  get listeners(): readonly OwnListener[] {
    return this.currentAddresses.listeners;
  }

  /** URL at which endpoints and clients reach the runtime API. */
  get publicUrl(): string {
    return this.config.publicUrl ?? this.currentAddresses.url;
  }

  /** URL at which users reach the dashboard. */
  get dashboardUrl(): string {
    return configuredDashboardUrl(this.config) ?? this.currentAddresses.managementUrl;
  }
}
