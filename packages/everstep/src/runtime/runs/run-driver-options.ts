/** Options of the run driver. */
import type { WorkSlices } from '../../fairness/work-slices.js';
import type { Clock } from '../../ports/clock.js';
import type { Cluster, SharedChange } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import type { MessageSender } from '../../ports/message-sender.js';
import type { Observer } from '../../ports/observer.js';
import type { Random } from '../../ports/random.js';
import type { StepCaller } from '../../ports/step-caller.js';
import type { InsightRetention } from '../../ports/stores/insights/insight-store.js';
import type { InstanceLimits } from '../../ports/stores/instance-limits.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { Store } from '../../ports/stores/store.js';
import type { Traces } from '../../ports/traces.js';
import type { WorkerPresence } from '../../ports/workers.js';
import type { BudgetShare } from '../alerts/conditions.js';
import type { KnownAlertSettings } from '../alerts/known-settings.js';
import type { StoreWrites } from '../commits/store-writes.js';
import type { RunCacheLimits } from './run-cache.js';

export interface RunDriverOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly stepCaller: StepCaller;
  readonly messageSender: MessageSender;
  /** The connected workers; if absent, there are none. */
  readonly workers?: WorkerPresence;
  readonly log: Log;
  /** Observes commits and deliveries, for metrics; if absent, nothing is observed. */
  readonly observer?: Observer;
  /** Trace contexts of the requests that are sent; if absent, the context of the trigger is passed on. */
  readonly traces?: Traces;
  /** Alert rules and lifecycle webhooks; if absent, there are none. */
  readonly alertSettings?: KnownAlertSettings;
  /** Returns how much of its budget an instance has spent, for alert rules; if absent, there are no budgets. */
  readonly budgetOf?: (instanceId: string) => Promise<BudgetShare | null>;
  /** Plans and budgets; if absent, nothing is limited. */
  readonly limits?: InstanceLimits;
  /** The accounts that share limited resources; if absent, everything belongs to one instance. */
  readonly owners?: InstanceOwners;
  /** Retention of the counters of insights; absent: the default. */
  readonly insightRetention?: InsightRetention;
  /** How many runs are kept in memory; default: `LIMITS`. */
  readonly cachedRuns?: RunCacheLimits;
  /** Clock of background work that no client waits for; default `clock`. */
  readonly upkeepClock?: Clock;
  /** Clock that paces background work; it continues while a test moves `clock`. Default `clock`. */
  readonly paceClock?: Clock;
  /** Set if several nodes share the store. */
  readonly cluster?: Cluster;
  /** Slices for work that keeps the process busy; if absent, it is done in one piece. */
  readonly slices?: Pick<WorkSlices, 'run'>;
  /** Whether the queue instance was deleted: none of its work is delivered. If absent, none was. */
  readonly isDeleted?: (instanceId: string) => boolean;
  /** Shared with other parts that must not act while the store refuses writes; created if absent. */
  readonly writes?: StoreWrites;
  /** Called when another node has changed data that is kept in memory elsewhere. */
  readonly onChange?: (change: SharedChange) => void;
  /** Returns the public URL of the server without a trailing slash; known once the server listens. */
  readonly publicUrl: () => string;
  /** Returns the URL of the dashboard without a trailing slash; if absent, it is the public URL. */
  readonly dashboardUrl?: () => string;
}
