/** Gauges that are read when the metrics are requested. */
import type { NodeStatus } from '../ports/cluster.js';
import type { GateCounts } from '../ports/observer.js';
import type { StoreMeasure } from '../ports/stores/store.js';
import { LabelValues, OTHER } from './label-values.js';
import type { MetricRegistry } from './registry.js';

/** Slots of one worker connection. */
export interface WorkerSlots {
  readonly app: string;
  readonly slots: number;
  readonly inFlight: number;
}

/** Sources of the gauges. */
export interface GaugeSources {
  /** Returns the time of the server's clock, Unix ms. */
  now(): number;
  workload(): {
    readonly deliveriesInFlight: number;
    readonly waiting: number;
    gates(): Iterable<GateCounts>;
  };
  workers(): readonly WorkerSlots[];
  acceptsWrites(): boolean;
  measure(): Promise<StoreMeasure>;
  nodes(): Promise<readonly NodeStatus[]>;
  info(): { readonly version: string; readonly store: string; readonly node: string };
}

const SECOND_MS = 1_000;
const NO_LABELS = {};
const STORE_GAUGES = ['everstep_runs_active', 'everstep_dead_letters', 'everstep_error_groups', 'everstep_store_bytes'] as const;

interface Sum {
  waiting: number;
  inFlight: number;
  oldestSince: number | null;
}

/** Returns the value, or null if it cannot be read. */
async function valueOrNull<Value>(read: () => Promise<Value>): Promise<Value | null> {
  try {
    return await read();
  } catch {
    return null;
  }
}

const earliest = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.min(a, b));

/** Sums the counts by name. Names after the `maxNames` with the most deliveries are combined as `other`. */
function sumsOf(gates: readonly GateCounts[], maxNames: number): ReadonlyMap<string, Sum> {
  const sumsByName = new Map<string, Sum>();
  const add = (name: string, { waiting, inFlight, oldestSince }: Sum) => {
    const sum = sumsByName.get(name) ?? { waiting: 0, inFlight: 0, oldestSince: null };
    sumsByName.set(name, {
      waiting: sum.waiting + waiting,
      inFlight: sum.inFlight + inFlight,
      oldestSince: earliest(sum.oldestSince, oldestSince),
    });
  };
  for (const gate of gates) add(gate.name, gate);
  if (sumsByName.size <= maxNames) return sumsByName;
  const rankedSums = [...sumsByName].sort(([, a], [, b]) => b.waiting + b.inFlight - (a.waiting + a.inFlight));
  sumsByName.clear();
  for (const [index, [name, sum]] of rankedSums.entries()) add(index < maxNames ? name : OTHER, sum);
  return sumsByName;
}

export class ServiceGauges {
  private readonly registry: MetricRegistry;
  private readonly sources: GaugeSources;
  private readonly maxNames: number;
  private readonly apps: LabelValues;

  /** Creates the gauges. At most `maxNames` keys, queues and apps each have their own time series. */
  constructor(registry: MetricRegistry, sources: GaugeSources, maxNames: number) {
    this.registry = registry;
    this.sources = sources;
    this.maxNames = maxNames;
    this.apps = new LabelValues(maxNames);
  }

  /** Reads all gauges. Never rejects: gauges of a store that cannot be read are absent. */
  async read(): Promise<void> {
    const { registry, sources } = this;
    const { deliveriesInFlight, waiting, gates } = sources.workload();
    registry.set('everstep_deliveries_in_flight', NO_LABELS, deliveriesInFlight);
    registry.set('everstep_deliveries_waiting', NO_LABELS, waiting);
    registry.set('everstep_store_accepts_writes', NO_LABELS, sources.acceptsWrites() ? 1 : 0);
    // The id of a node changes when it joins again.
    registry.reset('everstep_info');
    registry.set('everstep_info', sources.info(), 1);
    this.readGates([...gates()]);
    this.readWorkers();
    await Promise.all([this.readStore(), this.readNodes()]);
  }

  private readGates(gates: readonly GateCounts[]): void {
    const { registry } = this;
    const now = this.sources.now();
    for (const name of [
      'everstep_flow_control_waiting',
      'everstep_flow_control_in_flight',
      'everstep_queue_waiting',
      'everstep_oldest_waiting_seconds',
    ] as const)
      registry.reset(name);
    for (const kind of ['key', 'queue'] as const) {
      const sums = sumsOf(
        gates.filter((gate) => gate.kind === kind),
        this.maxNames,
      );
      for (const [name, { waiting, inFlight, oldestSince }] of sums) {
        if (kind === 'queue') registry.set('everstep_queue_waiting', { queue: name }, waiting);
        else {
          registry.set('everstep_flow_control_waiting', { key: name }, waiting);
          registry.set('everstep_flow_control_in_flight', { key: name }, inFlight);
        }
        const age = oldestSince === null ? 0 : Math.max(0, now - oldestSince) / SECOND_MS;
        registry.set('everstep_oldest_waiting_seconds', { where: kind, name }, age);
      }
    }
  }

  private readWorkers(): void {
    const { registry } = this;
    const sumsByApp = new Map<string, { connections: number; slots: number; inFlight: number }>();
    for (const { app, slots, inFlight } of this.sources.workers()) {
      const label = this.apps.valueOf(app);
      const sum = sumsByApp.get(label) ?? { connections: 0, slots: 0, inFlight: 0 };
      sum.connections += 1;
      sum.slots += slots;
      sum.inFlight += inFlight;
      sumsByApp.set(label, sum);
    }
    for (const name of ['everstep_workers_connected', 'everstep_worker_places', 'everstep_worker_requests_in_flight'] as const)
      registry.reset(name);
    for (const [app, { connections, slots, inFlight }] of sumsByApp) {
      registry.set('everstep_workers_connected', { app }, connections);
      registry.set('everstep_worker_places', { app }, slots);
      registry.set('everstep_worker_requests_in_flight', { app }, inFlight);
    }
  }

  private async readStore(): Promise<void> {
    const { registry, sources } = this;
    // A gauge that keeps its last value hides that the store cannot be read.
    const measure = await valueOrNull(() => sources.measure());
    for (const name of STORE_GAUGES) registry.reset(name);
    if (measure === null) return;
    const { activeRuns, deadLetters, errorGroups, bytes } = measure;
    registry.set('everstep_runs_active', NO_LABELS, activeRuns);
    registry.set('everstep_dead_letters', NO_LABELS, deadLetters);
    for (const [state, count] of Object.entries(errorGroups)) registry.set('everstep_error_groups', { state }, count);
    registry.set('everstep_store_bytes', NO_LABELS, bytes);
  }

  private async readNodes(): Promise<void> {
    const { registry, sources } = this;
    const nodes = await valueOrNull(() => sources.nodes());
    // Between the reset and the new values, no other page may be written.
    registry.reset('everstep_lease_seconds');
    registry.reset('everstep_nodes');
    if (nodes === null) return;
    const now = sources.now();
    const counts = { active: 0, leaving: 0, expired: 0 };
    for (const { nodeId, leaseUntil, expired, leaving, self } of nodes) {
      const state = leaving ? 'leaving' : expired ? 'expired' : 'active';
      counts[state] += 1;
      if (self && leaseUntil !== null) registry.set('everstep_lease_seconds', { node: nodeId }, (leaseUntil - now) / SECOND_MS);
    }
    for (const [state, count] of Object.entries(counts)) registry.set('everstep_nodes', { state }, count);
  }
}
