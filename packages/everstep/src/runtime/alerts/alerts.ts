/** The alert settings of an instance for its users, and the list of its alerts. */
import { LIMITS } from '../../config/limits.js';
import type { Alert } from '../../engine/alerts/alert.js';
import {
  type AlertRule,
  type AlertSettings,
  type LifecycleWebhook,
  NO_ALERT_SETTINGS,
} from '../../engine/alerts/alert-settings.js';
import {
  deleteDestination,
  deleteRule,
  deleteWebhook,
  putDestination,
  putRule,
  putWebhook,
  type SettingsRefusal,
} from '../../engine/alerts/settings-changes.js';
import type { AlertPage, AlertStore } from '../../ports/stores/alerts/alert-store.js';
import type { AlertService, DestinationRequest, StoredDestination } from '../interface/alerts.js';
import type { RunStarts } from '../runs/run-starts.js';
import type { AlertRounds } from './alert-rounds.js';
import type { AlertSettingsCache } from './alert-settings-cache.js';
import { newWebhookSecret } from './notice-target.js';
import type { Notices } from './notices.js';

const HOUR_MS = 3_600_000;

interface NamedSettingOfInstance {
  readonly instanceId: string;
  readonly name: string;
}

export interface AlertsOptions {
  readonly store: Pick<AlertStore, 'list'>;
  readonly settings: AlertSettingsCache;
  readonly rounds: Pick<AlertRounds, 'runNow' | 'runSoon'>;
  readonly notices: Pick<Notices, 'send'>;
  readonly context: RunStarts['context'];
}

const createdAtOf = <Item extends { readonly name: string; readonly createdAt: number }>(
  items: readonly Item[],
  name: string,
  now: number,
): number => items.find((item) => item.name === name)?.createdAt ?? now;

/** Returns the part of a destination that depends on its kind. */
function targetOf(request: DestinationRequest, secret: string) {
  switch (request.kind) {
    case 'webhook':
      return { kind: request.kind, url: request.url, secret };
    case 'slack':
      return { kind: request.kind, url: request.url };
    case 'email':
      return { kind: request.kind, to: request.to };
  }
}

export class Alerts implements AlertService {
  private readonly options: AlertsOptions;
  /** Times of the test notices of the last hour, by instance. */
  private readonly testTimes = new Map<string, readonly number[]>();

  constructor(options: AlertsOptions) {
    this.options = options;
  }

  settings({ instanceId }: { readonly instanceId: string }) {
    return this.options.settings.of(instanceId) ?? NO_ALERT_SETTINGS;
  }

  async putDestination(request: DestinationRequest): Promise<StoredDestination | SettingsRefusal> {
    const { instanceId, name } = request;
    const { random, now } = this.options.context();
    const generatedSecret = newWebhookSecret(random);
    const changedSettings = await this.options.settings.change<SettingsRefusal>(instanceId, (settings) => {
      const createdAt = createdAtOf(settings.destinations, name, now);
      const existing = settings.destinations.find((destination) => destination.name === name);
      const secret = existing?.kind === 'webhook' && !request.rotateSecret ? existing.secret : generatedSecret;
      return putDestination(settings, { name, createdAt, ...targetOf(request, secret) });
    });
    if (typeof changedSettings === 'string') return changedSettings;
    const storedDestination = changedSettings.destinations.find((destination) => destination.name === name);
    if (!storedDestination) return 'not-found';
    return {
      destination: storedDestination,
      newSecret: storedDestination.kind === 'webhook' && storedDestination.secret === generatedSecret ? generatedSecret : null,
    };
  }

  async putRule({
    instanceId,
    rule,
  }: {
    readonly instanceId: string;
    readonly rule: Omit<AlertRule, 'createdAt'>;
  }): Promise<AlertRule | SettingsRefusal> {
    const { settings, context, rounds } = this.options;
    const { now } = context();
    const changedSettings = await settings.change<SettingsRefusal>(instanceId, (current) =>
      putRule(current, { ...rule, createdAt: createdAtOf(current.rules, rule.name, now) }),
    );
    if (typeof changedSettings === 'string') return changedSettings;
    rounds.runSoon();
    return changedSettings.rules.find(({ name }) => name === rule.name) ?? 'not-found';
  }

  async putWebhook({
    instanceId,
    webhook,
  }: {
    readonly instanceId: string;
    readonly webhook: Omit<LifecycleWebhook, 'createdAt'>;
  }): Promise<LifecycleWebhook | SettingsRefusal> {
    const { settings, context } = this.options;
    const { now } = context();
    const changedSettings = await settings.change<SettingsRefusal>(instanceId, (current) =>
      putWebhook(current, { ...webhook, createdAt: createdAtOf(current.webhooks, webhook.name, now) }),
    );
    return typeof changedSettings === 'string'
      ? changedSettings
      : (changedSettings.webhooks.find(({ name }) => name === webhook.name) ?? 'not-found');
  }

  async deleteDestination({ instanceId, name }: NamedSettingOfInstance): Promise<SettingsRefusal | null> {
    return this.delete(instanceId, (settings) => deleteDestination(settings, name));
  }

  async deleteRule({ instanceId, name }: NamedSettingOfInstance): Promise<SettingsRefusal | null> {
    const refusal = await this.delete(instanceId, (settings) => deleteRule(settings, name));
    // Without rules, only a full round would end the alerts of the instance, up to an hour later.
    if (refusal === null) await this.options.rounds.runNow(instanceId);
    return refusal;
  }

  async deleteWebhook({ instanceId, name }: NamedSettingOfInstance): Promise<SettingsRefusal | null> {
    return this.delete(instanceId, (settings) => deleteWebhook(settings, name));
  }

  async test({
    instanceId,
    name,
  }: NamedSettingOfInstance): Promise<{ readonly messageId: string } | 'not-found' | 'too-many-tests'> {
    const { settings, notices, context } = this.options;
    const destination = settings.destination(instanceId, name);
    if (!destination) return 'not-found';
    const { now } = context();
    const recentTimes = (this.testTimes.get(instanceId) ?? []).filter((at) => at > now - HOUR_MS);
    if (recentTimes.length >= LIMITS.maxTestNoticesPerHour) return 'too-many-tests';
    this.testTimes.set(instanceId, [...recentTimes, now]);
    return { messageId: await notices.send(instanceId, destination, { kind: 'test' }, null) };
  }

  list(page: AlertPage): Promise<readonly Alert[]> {
    return this.options.store.list(page);
  }

  private async delete(
    instanceId: string,
    update: (settings: AlertSettings) => AlertSettings | SettingsRefusal,
  ): Promise<SettingsRefusal | null> {
    const changedSettings = await this.options.settings.change<SettingsRefusal>(instanceId, update);
    return typeof changedSettings === 'string' ? changedSettings : null;
  }
}
