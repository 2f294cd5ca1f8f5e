/**
 * The alert settings of all instances, in memory, so that a decision reads them without waiting. The store contains them as
 * encrypted secrets, because destinations have secrets.
 */
import { type AlertDestination, type AlertSettings, NO_ALERT_SETTINGS } from '../../engine/alerts/alert-settings.js';
import type { InstallationSecretStore } from '../../ports/stores/accounts/installation-secrets.js';
import { alertSettingsName, instanceOfAlertSettings } from '../../ports/stores/alerts/alert-store.js';

export interface CachedAlertSettings {
  /** Whether no instance has any settings. */
  readonly isEmpty: boolean;
  /** Returns the settings of the instance; null if it has none. */
  of(instanceId: string): AlertSettings | null;
  /** Returns the destination with this name; null if the instance has none. */
  destination(instanceId: string, name: string): AlertDestination | null;
}

/** The alert settings of a runtime without alerts. */
export const NO_ALERTS: CachedAlertSettings = Object.freeze({ isEmpty: true, of: () => null, destination: () => null });

export interface AlertSettingsCacheOptions {
  readonly secrets: InstallationSecretStore;
  /** Called when this process has changed the settings of the instance. */
  readonly onChange: (instanceId: string) => void;
  /** Whether the queue instance was deleted. Its settings are not cached. */
  readonly isDeleted: (instanceId: string) => boolean;
}

// Only `change` writes these values, so they are valid.
const parseSettings = (value: string): AlertSettings => JSON.parse(value) as AlertSettings;

export class AlertSettingsCache implements CachedAlertSettings {
  private readonly options: AlertSettingsCacheOptions;
  private byInstance: ReadonlyMap<string, AlertSettings> = new Map();

  constructor(options: AlertSettingsCacheOptions) {
    this.options = options;
  }

  get isEmpty(): boolean {
    return this.byInstance.size === 0;
  }

  of(instanceId: string): AlertSettings | null {
    return this.byInstance.get(instanceId) ?? null;
  }

  destination(instanceId: string, name: string): AlertDestination | null {
    return this.of(instanceId)?.destinations.find((destination) => destination.name === name) ?? null;
  }

  /** Returns the ids of the instances with settings. Instances keep them after their last rule was deleted. */
  instances(): readonly string[] {
    return [...this.byInstance.keys()];
  }

  /** Returns the ids of the instances with alert rules. */
  instancesWithRules(): readonly string[] {
    return [...this.byInstance].filter(([, { rules }]) => rules.length > 0).map(([instanceId]) => instanceId);
  }

  /** Drops the settings of a deleted instance. */
  forget(instanceId: string): void {
    const byInstance = new Map(this.byInstance);
    if (byInstance.delete(instanceId)) this.byInstance = byInstance;
  }

  /** Reads all settings. Rejects if the store cannot be read. */
  async refresh(): Promise<void> {
    const byInstance = new Map<string, AlertSettings>();
    for (const { name, value } of await this.options.secrets.listSecrets()) {
      const instanceId = instanceOfAlertSettings(name);
      if (instanceId !== null && !this.options.isDeleted(instanceId)) byInstance.set(instanceId, parseSettings(value));
    }
    this.byInstance = byInstance;
  }

  /**
   * Replaces the settings of the instance with those that `update` returns. If `update` returns a refusal, nothing changes.
   * `update` is called again if another process has changed the settings in the meantime.
   */
  async change<Refusal extends string>(
    instanceId: string,
    update: (settings: AlertSettings) => AlertSettings | Refusal,
  ): Promise<AlertSettings | Refusal> {
    const { secrets, onChange, isDeleted } = this.options;
    const name = alertSettingsName(instanceId);
    for (;;) {
      const storedValue = await secrets.findSecret({ name });
      const settings = update(storedValue === null ? NO_ALERT_SETTINGS : parseSettings(storedValue));
      if (typeof settings === 'string') return settings;
      const newValue = JSON.stringify(settings);
      const isWritten =
        storedValue === null
          ? (await secrets.findOrCreateSecret({ name, value: newValue })) === newValue
          : await secrets.replaceSecret({ name, from: storedValue, to: newValue });
      if (!isWritten) continue;
      if (!isDeleted(instanceId)) this.byInstance = new Map(this.byInstance).set(instanceId, settings);
      onChange(instanceId);
      return settings;
    }
  }
}
