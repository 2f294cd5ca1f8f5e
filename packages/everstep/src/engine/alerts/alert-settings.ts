/** The alert settings of a queue instance: destinations, alert rules, and lifecycle webhooks. All three have unique names. */

/** Receives notices. */
export type AlertDestination = {
  readonly name: string;
  /** Unix ms. */
  readonly createdAt: number;
} & (
  | {
      readonly kind: 'webhook';
      readonly url: string;
      /** `whsec_` and the key in base64. */
      readonly secret: string;
    }
  /** The URL is a secret, because anyone who has it can post to the channel. */
  | { readonly kind: 'slack'; readonly url: string }
);

/** What a rule watches. */
export type AlertCondition =
  /** A run or message failed after all retries. Absent filters match every run. */
  | {
      readonly kind: 'run-failed';
      readonly workflowUrl?: string;
      readonly label?: string;
      /** The alert ends when nothing has failed for this time. */
      readonly endAfterMs: number;
    }
  /** A group of errors is new, or has an entry again after it was resolved. The alert ends when it is acknowledged or empty. */
  | { readonly kind: 'error-group'; readonly workflowUrl?: string };

export type AlertKind = AlertCondition['kind'];
export const ALERT_KINDS = ['run-failed', 'error-group'] as const satisfies readonly AlertKind[];

export interface AlertRule {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly condition: AlertCondition;
  /** Names of destinations. */
  readonly destinations: readonly string[];
  /** Unix ms. */
  readonly createdAt: number;
}

export const LIFECYCLE_EVENTS = ['run.started', 'run.succeeded', 'run.failed', 'run.canceled'] as const;
export type LifecycleEvent = (typeof LIFECYCLE_EVENTS)[number];

/** Sends a notice for each matching event of a run. */
export interface LifecycleWebhook {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly events: readonly LifecycleEvent[];
  /** Absent: runs of every workflow. */
  readonly workflowUrl?: string;
  /** Absent: runs with and without labels. */
  readonly label?: string;
  /** Name of a destination. */
  readonly destination: string;
  /** Unix ms. */
  readonly createdAt: number;
}

export interface AlertSettings {
  readonly destinations: readonly AlertDestination[];
  readonly rules: readonly AlertRule[];
  readonly webhooks: readonly LifecycleWebhook[];
}

export const NO_ALERT_SETTINGS: AlertSettings = Object.freeze({ destinations: [], rules: [], webhooks: [] });

/** Returns what a person may see of the URL of a destination. Of a Slack URL, that is the host. */
export function shownUrl(destination: AlertDestination): string {
  if (destination.kind === 'webhook') return destination.url;
  const { protocol, host } = new URL(destination.url);
  return `${protocol}//${host}/`;
}

/** Whether failed runs must be recorded for the rules. */
export const watchesFailures = ({ rules }: AlertSettings): boolean => rules.some(({ isEnabled }) => isEnabled);
