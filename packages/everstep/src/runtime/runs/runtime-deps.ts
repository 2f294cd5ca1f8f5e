/** Dependencies shared by the classes that drive and deliver runs. */
import type { DecisionContext } from '../../engine/ids.js';
import { NO_SLICES, type WorkSlices } from '../../fairness/work-slices.js';
import type { Clock } from '../../ports/clock.js';
import type { Cluster } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import type { MessageSender } from '../../ports/message-sender.js';
import { NO_OBSERVER, type Observer } from '../../ports/observer.js';
import type { StepCaller } from '../../ports/step-caller.js';
import { type InstanceLimits, NO_LIMITS } from '../../ports/stores/instance-limits.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { Store } from '../../ports/stores/store.js';
import { NO_TRACES, type Traces } from '../../ports/traces.js';
import { NO_WORKERS, type WorkerPresence } from '../../ports/workers.js';
import { type CachedAlertSettings, NO_ALERTS } from '../alerts/alert-settings-cache.js';
import { refuseCallsWhileClosed, refuseMessagesWhileClosed, StoreWrites } from '../commits/store-writes.js';
import { limitCalls, limitMessages } from '../dispatch/requests/timeouts.js';
import type { RunDriverOptions } from './run-driver-options.js';

export interface RuntimeDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Clock that continues while a test moves `clock`. */
  readonly paceClock: Clock;
  readonly log: Log;
  readonly limits: InstanceLimits;
  readonly owners: InstanceOwners;
  /** Runs CPU-intensive work in slices, in turns by account. */
  readonly slices: Pick<WorkSlices, 'run'>;
  readonly writes: StoreWrites;
  readonly alerts: CachedAlertSettings;
  /** The connection to other nodes; null if no other process uses the store. */
  readonly cluster: Cluster | null;
  /** Sends nothing while the store rejects writes, and limits each timeout by the plan of the instance. */
  readonly stepCaller: StepCaller;
  readonly messageSender: MessageSender;
  readonly workers: WorkerPresence;
  readonly observer: Observer;
  readonly traces: Traces;
  /** Returns whether the queue instance was deleted, so that none of its work is delivered. */
  readonly isDeleted: (instanceId: string) => boolean;
  /** Returns the inputs of the next decision of the engine. */
  readonly context: () => DecisionContext;
}

/** Returns the dependencies, with defaults for absent options. */
export function createRuntimeDeps(options: RunDriverOptions): RuntimeDeps {
  const { store, clock, random, log, publicUrl } = options;
  const {
    paceClock = clock,
    limits = NO_LIMITS,
    owners = ONE_OWNER,
    slices = NO_SLICES,
    cluster = null,
    isDeleted = () => false,
    workers = NO_WORKERS,
    observer = NO_OBSERVER,
    traces = NO_TRACES,
    alertSettings: alerts = NO_ALERTS,
  } = options;
  const { writes = new StoreWrites(options) } = options;
  return {
    ...{ store, clock, paceClock, log, limits, owners, slices, writes, cluster, isDeleted, workers, observer, traces, alerts },
    stepCaller: refuseCallsWhileClosed(limitCalls(options.stepCaller, limits), writes),
    messageSender: refuseMessagesWhileClosed(limitMessages(options.messageSender, limits), writes),
    context: () => ({ now: clock.now(), random, publicUrl: publicUrl() }),
  };
}
