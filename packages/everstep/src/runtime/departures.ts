/**
 * Deliveries that have passed the gates wait here for a place and leave: what
 * becomes due together is handed out together, and while a burst of new runs
 * comes in its first deliveries are held back a little.
 */
import { LIMITS } from '../config/limits.js';
import type { Clock } from '../ports/clock.js';
import type { InstanceLimits } from '../ports/instance-limits.js';
import { BurstGate } from './burst-gate.js';
import type { Passage, Ticket } from './gates/delivery-gates.js';
import type { Places } from './gates/room.js';
import { type Ready, ReadyQueue, type Urgency } from './ready-queue.js';

export interface DeparturesOptions {
  readonly clock: Clock;
  readonly limits: Pick<InstanceLimits, 'maxParallelism'>;
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
  private readonly burst = new BurstGate();
  private recheck: (() => void) | null = null;
  private drainScheduled = false;
  private stopped = false;

  constructor(options: DeparturesOptions) {
    this.options = options;
    const ready = new ReadyQueue({
      maxInFlight: LIMITS.maxDeliveriesInFlight,
      maxInFlightPerHost: LIMITS.maxConnectionsPerHost,
      maxInFlightOf: (instanceId) => options.limits.maxParallelism(instanceId),
    });
    this.ready = ready;
    this.places = {
      free: (origin) => ready.free(origin),
      room: (origin) => ready.room(origin),
      freeOf: (instanceId) => ready.freeOf(instanceId),
      roomOf: (instanceId) => ready.roomOf(instanceId),
      promise: (origin, instanceId, change) => {
        ready.promise(origin, instanceId, change);
        // Others wait for a place that is promised no longer.
        if (change < 0) this.drainSoon();
      },
    };
  }

  /** What waits for a place, or is in flight. */
  get size(): number {
    return this.ready.size;
  }
  /** Nothing is here, and nothing is about to leave. */
  get idle(): boolean {
    return this.ready.size === 0 && !this.drainScheduled;
  }
  /** Deliveries of the instance in flight. */
  inFlight(instanceId: string): number {
    return this.ready.inFlightOf(instanceId);
  }
  get flights(): readonly Ready[] {
    return this.ready.flights;
  }
  isInFlight(ticket: Ticket): boolean {
    return this.ready.isInFlight(ticket);
  }

  /** A run was made. */
  triggered(): void {
    this.burst.triggered(this.options.clock.now());
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
    const fresh = this.ready.fresh;
    const allowed = this.burst.allowance(clock.now(), fresh);
    this.ready.drain(allowed, (host, task) => leave(host, task, task.passage));
    if (fresh.count <= allowed || this.recheck) return;
    this.recheck = clock.setTimer(clock.now() + this.burst.recheckMs, () => {
      this.recheck = null;
      this.drainSoon();
    });
  }
}
