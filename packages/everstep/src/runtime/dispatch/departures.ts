/**
 * Deliveries that have passed the gates wait here for a slot and are sent: what becomes due together is handed out together.
 * While an instance triggers a burst of new runs, their first deliveries are held back a little; those of other instances
 * are not.
 */
import { LIMITS } from '../../config/limits.js';
import type { Clock } from '../../ports/clock.js';
import type { InstanceLimits } from '../../ports/stores/instance-limits.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { Backlog } from '../due/due-turns.js';
import type { Passage, Ticket } from '../gates/delivery-gates.js';
import type { Places } from '../gates/room.js';
import type { QueuedBecause } from '../services/workflow-service.js';
import { BURST_RECHECK_MS, BurstGate } from './burst-gate.js';
import { type Ready, ReadyQueue, type Urgency } from './ready-queue.js';

/** Instances whose bursts are remembered; beyond it those are forgotten that have none. */
const MAX_BURSTS = 1_000;

export interface DeparturesOptions {
  readonly clock: Clock;
  readonly limits: Pick<InstanceLimits, 'maxParallelism'>;
  readonly owners: InstanceOwners;
  /** False while nothing may be sent; `drainSoon` has to follow when that ends. */
  readonly mayLeave: () => boolean;
  /** It has its place; `done` has to follow. */
  readonly leave: (host: string, ticket: Ticket, passage: Passage) => void;
}

export class Departures {
  /** What the gates see of the places here. */
  readonly places: Places;
  private readonly options: DeparturesOptions;
  private readonly ready: ReadyQueue;
  /** By instance. */
  private readonly bursts = new Map<string, BurstGate>();
  private recheck: (() => void) | null = null;
  private drainScheduled = false;
  private stopped = false;

  constructor(options: DeparturesOptions) {
    this.options = options;
    const ready = new ReadyQueue({
      maxInFlight: LIMITS.maxDeliveriesInFlight,
      maxInFlightPerHost: LIMITS.maxConnectionsPerHost,
      maxLongInFlight: LIMITS.maxLongDeliveriesInFlight,
      maxInFlightOf: (instanceId) => options.limits.maxParallelism(instanceId),
      owners: options.owners,
    });
    this.ready = ready;
    this.places = {
      free: (origin) => ready.free(origin),
      room: (origin) => ready.room(origin),
      freeOf: (instanceId) => ready.freeOf(instanceId),
      roomOf: (instanceId) => ready.roomOf(instanceId),
      freeLong: (instanceId) => ready.freeLong(instanceId),
      freeShare: (origin, instanceId) => ready.freeShare(origin, instanceId),
      promise: (origin, instanceId, change) => {
        ready.promise(origin, instanceId, change);
        // Others wait for a place that is promised no longer.
        if (change < 0) this.drainSoon();
      },
    };
  }

  /** What waits for a slot, or is in flight. */
  get backlog(): Backlog {
    return this.ready;
  }
  /** Nothing is here, and nothing is about to leave. */
  get idle(): boolean {
    return this.ready.size === 0 && !this.drainScheduled;
  }
  /** Deliveries of the instance in flight. */
  inFlight(instanceId: string): number {
    return this.ready.inFlightOf(instanceId);
  }
  /** The most that may be in flight of the instance. */
  mostInFlight(instanceId: string): number {
    return this.ready.mostInFlightOf(instanceId);
  }
  get flights(): readonly Ready[] {
    return this.ready.flights;
  }
  isInFlight(ticket: Ticket): boolean {
    return this.ready.isInFlight(ticket);
  }

  /** Why the delivery waits here for a slot; null when it does not. */
  queuedBecause(ticket: Ticket): QueuedBecause | null {
    return this.ready.queuedBecause(ticket);
  }

  /** A run of the instance was made. */
  triggered(instanceId: string): void {
    const now = this.options.clock.now();
    let burst = this.bursts.get(instanceId);
    if (!burst) {
      if (this.bursts.size >= MAX_BURSTS) for (const [id, other] of this.bursts) if (!other.isBurst(now)) this.bursts.delete(id);
      burst = new BurstGate();
      this.bursts.set(instanceId, burst);
    }
    burst.triggered(now);
  }

  /** False when the ticket is here already. */
  add(ticket: Ticket, passage: Passage, urgency: Urgency): boolean {
    const added = this.ready.add(passage.origin, { ...ticket, passage }, urgency, this.options.clock.now());
    if (added) this.drainSoon();
    return added;
  }

  /** The place is free again. `drainSoon` has to follow, once everybody knows. */
  done(host: string, ticket: Ticket): void {
    this.ready.done(host, ticket);
  }

  /** What waits for a place is forgotten; what is in flight is still to be done. */
  drop(): void {
    this.ready.clear();
  }

  /** Nothing leaves any more. */
  stop(): void {
    this.stopped = true;
    this.recheck?.();
  }

  drainSoon(): void {
    if (this.drainScheduled || this.stopped) return;
    this.drainScheduled = true;
    queueMicrotask(() => {
      this.drainScheduled = false;
      this.drain();
    });
  }

  private drain(): void {
    const { clock, leave, mayLeave } = this.options;
    if (this.stopped || !mayLeave()) return;
    const now = clock.now();
    let isHeldBack = false;
    const freshAllowed = (instanceId: string): number => {
      const burst = this.bursts.get(instanceId);
      if (!burst) return Number.POSITIVE_INFINITY;
      const fresh = this.ready.freshOf(instanceId);
      const allowed = burst.allowance(now, fresh);
      isHeldBack ||= fresh.count > allowed;
      return allowed;
    };
    this.ready.drain(freshAllowed, (host, task) => leave(host, task, task.passage));
    if (!isHeldBack || this.recheck) return;
    this.recheck = clock.setTimer(now + BURST_RECHECK_MS, () => {
      this.recheck = null;
      this.drainSoon();
    });
  }
}
