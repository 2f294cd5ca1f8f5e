/** Alerts: rules, destinations and lifecycle webhooks of an instance, and the alerts that its rules have opened. */
import type { Alert } from '../../engine/alerts/alert.js';
import type { AlertDestination, AlertRule, AlertSettings, LifecycleWebhook } from '../../engine/alerts/alert-settings.js';
import type { SettingsRefusal } from '../../engine/alerts/settings-changes.js';
import type { AlertPage } from '../../ports/stores/alerts/alert-store.js';

interface NamedSetting {
  readonly instanceId: string;
  readonly name: string;
}

/** A destination as a user specifies it. If `rotateSecret` is true, an existing webhook gets a new secret. */
export type DestinationRequest = NamedSetting & { readonly rotateSecret: boolean } & (
    | { readonly kind: 'webhook' | 'slack'; readonly url: string }
    | { readonly kind: 'email'; readonly to: readonly string[] }
  );

export interface StoredDestination {
  readonly destination: AlertDestination;
  /** The secret of the webhook if it is new; null if it did not change, or if there is none. */
  readonly newSecret: string | null;
}

export interface AlertService {
  settings(query: { readonly instanceId: string }): AlertSettings;
  putDestination(request: DestinationRequest): Promise<StoredDestination | SettingsRefusal>;
  putRule(request: {
    readonly instanceId: string;
    readonly rule: Omit<AlertRule, 'createdAt'>;
  }): Promise<AlertRule | SettingsRefusal>;
  putWebhook(request: {
    readonly instanceId: string;
    readonly webhook: Omit<LifecycleWebhook, 'createdAt'>;
  }): Promise<LifecycleWebhook | SettingsRefusal>;
  deleteDestination(setting: NamedSetting): Promise<SettingsRefusal | null>;
  /** Deletes the rule and ends its open alerts. */
  deleteRule(setting: NamedSetting): Promise<SettingsRefusal | null>;
  deleteWebhook(setting: NamedSetting): Promise<SettingsRefusal | null>;
  /** Sends a test notice. Returns the id of the message. */
  test(setting: NamedSetting): Promise<{ readonly messageId: string } | 'not-found' | 'too-many-tests'>;
  list(page: AlertPage): Promise<readonly Alert[]>;
}
