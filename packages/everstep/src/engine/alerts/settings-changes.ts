/** Changes of alert settings, and the reasons why they are rejected. */
import { LIMITS } from '../../config/limits.js';
import type { AlertDestination, AlertRule, AlertSettings, LifecycleWebhook } from './alert-settings.js';

/** Why a change was rejected. */
export type SettingsRefusal =
  /** There is no object with this name. */
  | 'not-found'
  /** The limit of the instance is reached. */
  | 'too-many'
  /** A rule or a webhook uses the destination. */
  | 'in-use'
  /** A rule or a webhook specifies a destination that does not exist. */
  | 'no-destination'
  /** A lifecycle webhook specifies a destination of another kind. */
  | 'not-a-webhook';

interface NamedSetting {
  readonly name: string;
}

function putNamed<Item extends NamedSetting>(items: readonly Item[], item: Item, maxCount: number): readonly Item[] | 'too-many' {
  const index = items.findIndex(({ name }) => name === item.name);
  if (index >= 0) return items.with(index, item);
  return items.length >= maxCount ? 'too-many' : [...items, item];
}

function removeNamed<Item extends NamedSetting>(items: readonly Item[], name: string): readonly Item[] | 'not-found' {
  const remaining = items.filter((item) => item.name !== name);
  return remaining.length === items.length ? 'not-found' : remaining;
}

export function putDestination(settings: AlertSettings, destination: AlertDestination): AlertSettings | SettingsRefusal {
  if (destination.kind !== 'webhook' && settings.webhooks.some((webhook) => webhook.destination === destination.name))
    return 'in-use';
  const destinations = putNamed(settings.destinations, destination, LIMITS.maxAlertDestinations);
  return typeof destinations === 'string' ? destinations : { ...settings, destinations };
}

export function deleteDestination(settings: AlertSettings, name: string): AlertSettings | SettingsRefusal {
  const { rules, webhooks } = settings;
  const isUsed =
    rules.some((rule) => rule.destinations.includes(name)) || webhooks.some(({ destination }) => destination === name);
  if (isUsed) return 'in-use';
  const destinations = removeNamed(settings.destinations, name);
  return typeof destinations === 'string' ? destinations : { ...settings, destinations };
}

export function putRule(settings: AlertSettings, rule: AlertRule): AlertSettings | SettingsRefusal {
  const names = new Set(settings.destinations.map(({ name }) => name));
  if (!rule.destinations.every((name) => names.has(name))) return 'no-destination';
  const rules = putNamed(settings.rules, rule, LIMITS.maxAlertRules);
  return typeof rules === 'string' ? rules : { ...settings, rules };
}

export function deleteRule(settings: AlertSettings, name: string): AlertSettings | SettingsRefusal {
  const rules = removeNamed(settings.rules, name);
  return typeof rules === 'string' ? rules : { ...settings, rules };
}

export function putWebhook(settings: AlertSettings, webhook: LifecycleWebhook): AlertSettings | SettingsRefusal {
  const destination = settings.destinations.find(({ name }) => name === webhook.destination);
  if (!destination) return 'no-destination';
  if (destination.kind !== 'webhook') return 'not-a-webhook';
  const webhooks = putNamed(settings.webhooks, webhook, LIMITS.maxLifecycleWebhooks);
  return typeof webhooks === 'string' ? webhooks : { ...settings, webhooks };
}

export function deleteWebhook(settings: AlertSettings, name: string): AlertSettings | SettingsRefusal {
  const webhooks = removeNamed(settings.webhooks, name);
  return typeof webhooks === 'string' ? webhooks : { ...settings, webhooks };
}
