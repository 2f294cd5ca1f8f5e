/** A server process in a simulation, from its start until it is killed. */
import type { SeededRandom } from '../clock/testing/seeded-random.js';
import { clockUntil, type SimulatedClock } from '../clock/testing/simulated-clock.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/stores/store.js';
import { createRuntime, type Runtime } from '../runtime/runtime.js';
import { WorkerStepCaller } from '../worker-connections/worker-step-caller.js';
import { WorkerListener } from './connections/worker-listener.js';
import type { DeliveryLedger } from './delivery-ledger.js';
import type { FaultyCaller } from './faulty-caller.js';
import { faultyStore, type StoreFaults, StoreOutages } from './faulty-store.js';
import type { SimulatedNode } from './simulated-nodes.js';

const LONGEST_STALL_MS = 6_000;
const MAX_CACHED_RUNS = 8;

export interface SimulatedServer {
  readonly runtime: Runtime;
  /** Where workers connect; null if the server calls them over HTTP. */
  readonly listener: WorkerListener | null;
  kill(): void;
}

export interface SimulatedServerOptions {
  readonly instanceId: string;
  readonly clock: SimulatedClock;
  readonly random: SeededRandom;
  readonly store: Store;
  readonly faults: StoreFaults;
  /** Calls the app over HTTP, and the simulated API. */
  readonly caller: FaultyCaller;
  readonly deliveries: DeliveryLedger;
  /** Returns the node of the server; null if no other process uses the store. */
  readonly nodeOf: (isDead: () => boolean) => SimulatedNode | null;
  readonly onOutage: () => void;
  readonly acceptsWorkers: boolean;
}

const SILENT_LOG: Log = { debug() {}, info() {}, warn() {}, error() {} };

export function startSimulatedServer(options: SimulatedServerOptions): SimulatedServer {
  const { instanceId, clock, random, store, faults, caller, deliveries, nodeOf, onOutage, acceptsWorkers } = options;
  let wasKilled = false;
  const isDead = (): boolean => wasKilled;
  const ownClock = clockUntil(isDead, clock);
  const node = nodeOf(isDead);
  const waitOutStall = () => clock.wait(random.below(LONGEST_STALL_MS));
  const outages = new StoreOutages(clock, random, faults, onOutage);
  const listener = acceptsWorkers ? new WorkerListener(instanceId, ownClock) : null;
  const httpTransports = { stepCaller: caller, messageSender: caller };
  const transport = listener
    ? new WorkerStepCaller({ pools: listener.pools, otherTransports: httpTransports, now: () => clock.now() })
    : caller;
  const watchedTransport = deliveries.watch(transport, () => !wasKilled && outages.isRejectingWrites);
  const runtime = createRuntime({
    store: faultyStore(node?.viewOf(store) ?? store, random, faults, isDead, { waitOutStall, outages }),
    clock: ownClock,
    // Maintenance would only advance the clock in small steps.
    upkeepClock: { ...ownClock, setTimer: () => () => {} },
    random,
    // So few runs fit into memory that they are often removed and read again.
    cachedRuns: { maxRuns: 1 + random.below(MAX_CACHED_RUNS), maxBytes: Number.POSITIVE_INFINITY },
    stepCaller: watchedTransport,
    messageSender: watchedTransport,
    log: SILENT_LOG,
    publicUrl: () => 'http://everstep',
    ...(node ? { cluster: node } : {}),
    ...(listener ? { workers: listener.pools } : {}),
  });
  void runtime.start();
  return {
    runtime,
    listener,
    kill() {
      wasKilled = true;
      listener?.kill();
    },
  };
}
