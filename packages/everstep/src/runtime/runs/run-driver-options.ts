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
import type { CachedAlertSettings } from '../alerts/alert-settings-cache.js';
import type { BudgetShare } from '../alerts/conditions.js';
import type { StoreWrites } from '../commits/store-writes.js';
import type { RunCacheLimits } from './run-cache.js';

export interface RunDriverOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly stepCaller: StepCaller;
  readonly messageSender: MessageSender;
  /** The connected workers. Absent if there are none. */
  readonly workers?: WorkerPresence;
  readonly log: Log;
  /** Observes commits and deliveries, for metrics. */
  readonly observer?: Observer;
  /** Trace contexts of the requests that are sent. If absent, the context of the trigger is passed on. */
  readonly traces?: Traces;
  /** Alert rules and lifecycle webhooks. Absent if there are none. */
  readonly alertSettings?: CachedAlertSettings;
  /** Returns how much of its budget an instance has spent, for alert rules. Absent if there are no budgets. */
  readonly budgetOf?: (instanceId: string) => Promise<BudgetShare | null>;
  /** Plans and budgets. If absent, nothing is limited. */
  readonly limits?: InstanceLimits;
  /** The accounts that share limited resources. If absent, everything belongs to one account. */
  readonly owners?: InstanceOwners;
  /** Retention of the counters of insights. Defaults to `LIMITS`. */
  readonly insightRetention?: InsightRetention;
  /** Maximum number and size of the runs in memory. Defaults to `LIMITS`. */
  readonly cachedRuns?: RunCacheLimits;
  /** Clock of background work that no client waits for. Defaults to `clock`. */
  readonly upkeepClock?: Clock;
  /** Clock that paces background work. It continues while a test moves `clock`. Defaults to `clock`. */
  readonly paceClock?: Clock;
  /** Set if several nodes share the store. */
  readonly cluster?: Cluster;
  /** Slices for work that keeps the process busy. If absent, such work is done in one piece. */
  readonly slices?: Pick<WorkSlices, 'run'>;
  /**
   * Returns whether the queue instance was deleted, so that none of its work is delivered. Absent if no instance can be
   * deleted.
   */
  readonly isDeleted?: (instanceId: string) => boolean;
  /** Tracks whether the store accepts writes, for all parts that must not act while it rejects them. Created if absent. */
  readonly writes?: StoreWrites;
  /** Called when another node has changed data that is kept in memory elsewhere. */
  readonly onChange?: (change: SharedChange) => void;
  /** Returns the public URL of the server without a trailing slash. It is known once the server listens. */
  readonly publicUrl: () => string;
  /** Returns the URL of the dashboard without a trailing slash. Defaults to the public URL. */
  readonly dashboardUrl?: () => string;
}
