/** The alert settings of a queue instance: destinations, alert rules, and lifecycle webhooks. All three have unique names. */

import type { QuietHours } from './quiet-hours.js';

/** A destination that receives notices. */
export type AlertDestination = {
  readonly name: string;
  /** Time when the destination was created, Unix ms. */
  readonly createdAt: number;
} & (
  | {
      readonly kind: 'webhook';
      readonly url: string;
      /** Signing secret: `whsec_` and the key in Base64. */
      readonly secret: string;
    }
  /** The URL is a secret, because anyone who has it can post to the channel. */
  | { readonly kind: 'slack'; readonly url: string }
  | { readonly kind: 'email'; readonly to: readonly string[] }
);

/** The condition that a rule watches. */
export type AlertCondition =
  /** A run or message failed after all retries. Absent filters match every run. */
  | {
      readonly kind: 'run-failed';
      readonly workflowUrl?: string;
      readonly label?: string;
      /** The alert ends when nothing has failed for this long. */
      readonly endAfterMs: number;
    }
  /**
   * A group of errors is new, or has an entry again after it was resolved or its snooze ended. The alert ends when the group is
   * acknowledged, snoozed or empty.
   */
  | { readonly kind: 'error-group'; readonly workflowUrl?: string }
  /** At least this share of the runs that ended in the window failed. At least `minRuns` runs must have ended. */
  | {
      readonly kind: 'failure-rate';
      readonly workflowUrl?: string;
      readonly percent: number;
      readonly windowMs: number;
      readonly minRuns: number;
    }
  /** The oldest delivery of a flow control key, or the oldest message of a queue, has waited too long. One of them is present. */
  | { readonly kind: 'pending-age'; readonly flowControlKey?: string; readonly queue?: string; readonly maxAgeMs: number }
  /** The next tick of a schedule is overdue by more than this. */
  | { readonly kind: 'schedule-missed'; readonly forMs: number }
  /** A run has been active for at least this long. */
  | { readonly kind: 'run-age'; readonly workflowUrl?: string; readonly label?: string; readonly maxAgeMs: number }
  /** No connected worker has served this worker URL for this long. */
  | { readonly kind: 'no-worker'; readonly workflowUrl: string; readonly forMs: number }
  /** This share of the monthly budget is spent. */
  | { readonly kind: 'budget'; readonly percent: number }
  /** The store rejected writes. The alert opens when it accepts them again. */
  | { readonly kind: 'store-trouble' };

export type AlertKind = AlertCondition['kind'];
export const ALERT_KINDS = [
  'run-failed',
  'error-group',
  'failure-rate',
  'pending-age',
  'schedule-missed',
  'run-age',
  'no-worker',
  'budget',
  'store-trouble',
] as const satisfies readonly AlertKind[];

export interface AlertRule {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly condition: AlertCondition;
  /** Names of the destinations of the notices. */
  readonly destinations: readonly string[];
  /** Time of day during which notices wait. If absent, notices are sent at any time. */
  readonly quietHours?: QuietHours;
  /** Time when the rule was created, Unix ms. */
  readonly createdAt: number;
}

export const LIFECYCLE_EVENTS = ['run.started', 'run.succeeded', 'run.failed', 'run.canceled'] as const;
export type LifecycleEvent = (typeof LIFECYCLE_EVENTS)[number];

/** Sends a notice for each matching event of a run. */
export interface LifecycleWebhook {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly events: readonly LifecycleEvent[];
  /** URL of the workflow. If absent, runs of every workflow match. */
  readonly workflowUrl?: string;
  /** Label of the runs. If absent, runs match with and without labels. */
  readonly label?: string;
  /** Name of the destination. */
  readonly destination: string;
  /** Time when the webhook was created, Unix ms. */
  readonly createdAt: number;
}

export interface AlertSettings {
  readonly destinations: readonly AlertDestination[];
  readonly rules: readonly AlertRule[];
  readonly webhooks: readonly LifecycleWebhook[];
}

export const NO_ALERT_SETTINGS: AlertSettings = Object.freeze({ destinations: [], rules: [], webhooks: [] });

/** Returns the part of the URL of a destination that a person may see. For a Slack URL, this is the host. */
export function displayUrl(destination: AlertDestination): string {
  if (destination.kind === 'webhook') return destination.url;
  if (destination.kind === 'email') return `mailto:${destination.to.join(',')}`;
  const { protocol, host } = new URL(destination.url);
  return `${protocol}//${host}/`;
}

/** Condition of a rule that is evaluated from events. The others check the current state. */
export type EventCondition = Extract<AlertCondition, { readonly kind: 'run-failed' | 'error-group' }>;

export const isAboutEvents = (condition: AlertCondition): condition is EventCondition =>
  condition.kind === 'run-failed' || condition.kind === 'error-group';

/** Returns whether failed runs must be recorded for the rules. */
export const watchesFailures = ({ rules }: AlertSettings): boolean =>
  rules.some(({ isEnabled, condition }) => isEnabled && isAboutEvents(condition));
