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
    const { dashboardUrl, managementAddress, publicUrl, signIn } = this.config;
    if (dashboardUrl !== null) return dashboardUrl;
    // The public URL does not serve the dashboard if the management API has its own address.
    if (publicUrl !== null && managementAddress === null) return publicUrl;
    return signIn?.redirectUrl ? new URL(signIn.redirectUrl).origin : this.currentAddresses.managementUrl;
  }
}
