/**
 * The alert settings of all instances, in memory, so that a decision reads them without waiting. The store contains them as
 * encrypted secrets, because destinations have secrets.
 */
import { type AlertDestination, type AlertSettings, NO_ALERT_SETTINGS } from '../../engine/alerts/alert-settings.js';
import type { InstallationSecretStore } from '../../ports/stores/accounts/installation-secrets.js';
import { alertSettingsName, instanceOfAlertSettings } from '../../ports/stores/alerts/alert-store.js';

export interface KnownAlertSettings {
  /** Whether no instance has any settings. */
  readonly isEmpty: boolean;
  /** Returns the settings of the instance; null if it has none. */
  of(instanceId: string): AlertSettings | null;
  destination(instanceId: string, name: string): AlertDestination | null;
}

/** The alert settings of a runtime without alerts. */
export const NO_ALERTS: KnownAlertSettings = Object.freeze({ isEmpty: true, of: () => null, destination: () => null });

export interface AlertSettingsCacheOptions {
  readonly secrets: InstallationSecretStore;
  /** Called when this process has changed the settings of the instance. */
  readonly onChange: (instanceId: string) => void;
}

// Only `change` writes these values, so they are valid.
const parsed = (value: string): AlertSettings => JSON.parse(value) as AlertSettings;

export class AlertSettingsCache implements KnownAlertSettings {
  private readonly options: AlertSettingsCacheOptions;
  private known: ReadonlyMap<string, AlertSettings> = new Map();

  constructor(options: AlertSettingsCacheOptions) {
    this.options = options;
  }

  get isEmpty(): boolean {
    return this.known.size === 0;
  }

  of(instanceId: string): AlertSettings | null {
    return this.known.get(instanceId) ?? null;
  }

  destination(instanceId: string, name: string): AlertDestination | null {
    return this.of(instanceId)?.destinations.find((destination) => destination.name === name) ?? null;
  }

  /** Instances with alert rules. */
  watched(): readonly string[] {
    return [...this.known].filter(([, { rules }]) => rules.length > 0).map(([instanceId]) => instanceId);
  }

  /** Reads all settings. Rejects if the store cannot be read. */
  async refresh(): Promise<void> {
    const known = new Map<string, AlertSettings>();
    for (const { name, value } of await this.options.secrets.listSecrets()) {
      const instanceId = instanceOfAlertSettings(name);
      if (instanceId !== null) known.set(instanceId, parsed(value));
    }
    this.known = known;
  }

  /**
   * * Replaces the settings of the instance with those that `update` returns. If `update` returns a refusal, nothing changes.
   * `update` is called again if another process has changed the settings in the meantime.
   */
  async change<Refusal extends string>(
    instanceId: string,
    of: (settings: AlertSettings) => AlertSettings | Refusal,
  ): Promise<AlertSettings | Refusal> {
    const { secrets, onChange } = this.options;
    const name = alertSettingsName(instanceId);
    for (;;) {
      const from = await secrets.findSecret({ name });
      const settings = of(from === null ? NO_ALERT_SETTINGS : parsed(from));
      if (typeof settings === 'string') return settings;
      const to = JSON.stringify(settings);
      const isWritten =
        from === null ? (await secrets.secret({ name, value: to })) === to : await secrets.replaceSecret({ name, from, to });
      if (!isWritten) continue;
      this.known = new Map(this.known).set(instanceId, settings);
      onChange(instanceId);
      return settings;
    }
  }
}
