/** Background work on the store: retention, groups of dead letters, and rows of deleted instances. */
import type { Cluster } from '../ports/cluster.js';
import { NO_LIMITS } from '../ports/stores/instance-limits.js';
import { InstanceRemoval } from './removal/instance-removal.js';
import type { RunDriverOptions } from './runs/run-driver-options.js';
import { GroupUpkeep } from './services/group-upkeep.js';
import { Retention } from './services/retention.js';

export interface Upkeep {
  readonly removal: InstanceRemoval;
  readonly retention: Retention;
  readonly groups: GroupUpkeep;
}

export function createUpkeep(options: RunDriverOptions, stopInstance: (instanceId: string) => void): Upkeep {
  const { store, clock: runClock, log, cluster, owners, limits = NO_LIMITS } = options;
  const clock = options.upkeepClock ?? runClock;
  const pacedOptions = { store, clock, paceClock: options.paceClock ?? runClock, log };
  const exclusivity = (name: Parameters<Cluster['tryExclusively']>[0]) =>
    cluster ? { tryExclusively: (work: () => Promise<void>) => cluster.tryExclusively(name, work) } : {};
  return {
    removal: new InstanceRemoval({ ...pacedOptions, stopInstance, ...exclusivity('removal') }),
    retention: new Retention({
      ...pacedOptions,
      bounds: (instanceId) => limits.retentionBounds(instanceId),
      ...(owners ? { owners } : {}),
      ...(options.insightRetention ? { insights: options.insightRetention } : {}),
      ...exclusivity('retention'),
    }),
    groups: new GroupUpkeep({ store, clock, now: () => runClock.now(), log, ...exclusivity('groups') }),
  };
}
