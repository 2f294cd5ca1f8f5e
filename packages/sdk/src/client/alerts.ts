/** Alerts: rules, destinations of notices, lifecycle webhooks, and the alerts that the rules have opened. */
import type {
  AlertCondition,
  AlertDestination,
  AlertDestinationKind,
  AlertPage,
  AlertRule,
  LifecycleEvent,
  LifecycleWebhook,
  QuietHours,
} from './generated/index.js';
import { type Call, jsonCall } from './transport.js';

/** Options of a destination. */
export interface AlertDestinationOptions {
  /** Kind of the destination: `webhook`, `slack` or `email`. */
  readonly kind: AlertDestinationKind;
  /** Required for `webhook` and `slack`. */
  readonly url?: string;
  /** Addresses of people. Required for `email`. */
  readonly to?: readonly string[];
  /** Creates a new secret for an existing webhook. Default: false. */
  readonly rotateSecret?: boolean;
}

/** Options of an alert rule. */
export interface AlertRuleOptions {
  /** Condition that opens an alert. */
  readonly condition: AlertCondition;
  /** Names of the destinations to notify. */
  readonly destinations: readonly string[];
  /** Default: notices are sent at any time. */
  readonly quietHours?: QuietHours;
  /** False keeps the rule without evaluating it. Default: true. */
  readonly enabled?: boolean;
}

/** Options of a lifecycle webhook. */
export interface LifecycleWebhookOptions {
  /** Events of runs that are sent. */
  readonly events: readonly LifecycleEvent[];
  /** Name of a destination of the kind `webhook`. */
  readonly destination: string;
  /** Only runs of this workflow. */
  readonly workflowUrl?: string;
  /** Only runs with this label. */
  readonly label?: string;
  /** False keeps the webhook without sending notices. Default: true. */
  readonly enabled?: boolean;
}

/** Options for a page of alerts. */
export interface AlertListOptions {
  /** State of the alerts. Default: all. */
  readonly state?: 'open' | 'ended';
  /** Cursor from the previous page, with the same state. */
  readonly cursor?: string;
  /** Number of alerts per page, 1 to 200. */
  readonly count?: number;
}

const ALERTS = '/v2/alerts';

/** Alert objects of one kind, which are identified by name. Methods reject with EverstepError. */
class NamedObjects<Options extends object, Entry> {
  protected readonly call: <T>(call: Call) => Promise<T>;
  private readonly kind: 'destinations' | 'rules' | 'webhooks';

  constructor(call: <T>(call: Call) => Promise<T>, kind: 'destinations' | 'rules' | 'webhooks') {
    this.call = call;
    this.kind = kind;
  }

  /** Returns all objects. */
  async list(): Promise<readonly Entry[]> {
    const response = await this.call<Readonly<Record<string, readonly Entry[]>>>({
      method: 'GET',
      path: `${ALERTS}/${this.kind}`,
    });
    return response[this.kind] ?? [];
  }

  /** Creates or replaces the object with this name. */
  put(name: string, options: Options): Promise<Entry> {
    return this.call(jsonCall('PUT', this.pathOf(name), options));
  }

  /** Deletes the object with this name. */
  async delete(name: string): Promise<void> {
    await this.call({ method: 'DELETE', path: this.pathOf(name) });
  }

  protected pathOf(name: string): string {
    return `${ALERTS}/${this.kind}/${encodeURIComponent(name)}`;
  }
}

/** Destinations of notices. The secret of a new webhook is only in the response of `put`. */
class AlertDestinations extends NamedObjects<AlertDestinationOptions, AlertDestination> {
  /** Sends a test notice. Returns the id of the message. */
  async test(name: string): Promise<{ readonly messageId: string }> {
    return this.call({ method: 'POST', path: `${this.pathOf(name)}/test` });
  }
}

/** Alerts. Use it through `Client.alerts`. Methods reject with EverstepError. */
export class Alerts {
  /** Destinations of notices. */
  readonly destinations: AlertDestinations;
  /** Alert rules. */
  readonly rules: NamedObjects<AlertRuleOptions, AlertRule>;
  /** Lifecycle webhooks. */
  readonly webhooks: NamedObjects<LifecycleWebhookOptions, LifecycleWebhook>;
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
    this.destinations = new AlertDestinations(call, 'destinations');
    this.rules = new NamedObjects(call, 'rules');
    this.webhooks = new NamedObjects(call, 'webhooks');
  }

  /** Returns one page of alerts, newest first. */
  list(options: AlertListOptions = {}): Promise<AlertPage> {
    return this.call({ method: 'GET', path: ALERTS, query: options });
  }
}
