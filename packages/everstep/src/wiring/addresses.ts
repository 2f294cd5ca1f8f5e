/**
 * The addresses of the server. They are final only when it listens, because a port may be chosen then. Nothing reads them
 * before.
 */
import { localUrl } from '../bootstrap/listeners.js';
import type { Config } from '../config/config.js';
import type { OwnListener } from '../step-calls/addresses/address-policy.js';

/** Addresses on which the server listens. */
export interface Listening {
  /** URL of the runtime API, as this machine reaches it. */
  readonly url: string;
  /** URL of the management API and the dashboard, as this machine reaches them. */
  readonly managementUrl: string;
  readonly listeners: readonly OwnListener[];
}

export class Addresses {
  private readonly config: Config;
  private listening: Listening;

  constructor(config: Config) {
    this.config = config;
    this.listening = { url: localUrl(config, config.host, config.port), managementUrl: '', listeners: [] };
  }

  /** Called when the server listens. */
  set(listening: Listening): void {
    this.listening = listening;
  }

  get listeners(): readonly OwnListener[] {
    return this.listening.listeners;
  }

  /** URL of the runtime API, as endpoints and clients reach it. */
  get publicUrl(): string {
    return this.config.publicUrl ?? this.listening.url;
  }
  get dashboardUrl(): string {
    return this.config.publicUrl ?? this.listening.managementUrl;
  }
}
