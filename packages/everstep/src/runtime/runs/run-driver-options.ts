/** What drives runs, and the world around them. */
import type { WorkSlices } from '../../fairness/work-slices.js';
import type { Clock } from '../../ports/clock.js';
import type { Cluster, SharedChange } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import type { MessageSender } from '../../ports/message-sender.js';
import type { Random } from '../../ports/random.js';
import type { StepCaller } from '../../ports/step-caller.js';
import type { InstanceLimits } from '../../ports/stores/instance-limits.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { Store } from '../../ports/stores/store.js';
import type { StoreWrites } from '../commits/store-writes.js';

export interface RunDriverOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly stepCaller: StepCaller;
  readonly messageSender: MessageSender;
  readonly log: Log;
  /** Plans and budgets; nothing is limited when absent. */
  readonly limits?: InstanceLimits;
  /** Who shares what is limited; absent: everything belongs to one instance. */
  readonly owners?: InstanceOwners;
  /** For upkeep that nobody waits for; when absent it is `clock`. */
  readonly upkeepClock?: Clock;
  /** Runs on while `clock` is moved; paces background work. When absent it is `clock`. */
  readonly paceClock?: Clock;
  /** Where several nodes share the store; absent: this process is alone on it. */
  readonly cluster?: Cluster;
  /** Work that keeps the process busy is done in these; at once when absent. */
  readonly slices?: Pick<WorkSlices, 'run'>;
  /** Whether the queue instance was deleted: nothing of it is delivered. None is when absent. */
  readonly isDeleted?: (instanceId: string) => boolean;
  /** Shared with whoever else must not act while the store takes no writes; absent: one on `clock`. */
  readonly writes?: StoreWrites;
  /** Something that is kept in memory elsewhere was changed on another node. */
  readonly onChange?: (change: SharedChange) => void;
  /** Where the service is reached from outside, without a slash at the end; known once it listens. */
  readonly publicUrl: () => string;
}
