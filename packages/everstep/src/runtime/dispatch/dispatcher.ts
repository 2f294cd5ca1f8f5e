/**
 * Dispatches deliveries, from the moment a task is due until the outcome of its request is decided.
 *
 * The states of a delivery, and what moves it to the next one:
 *
 *   due ──► offered ──► waiting at a gate ──► waiting for a slot ──► in flight ──► released ──► outcome
 *
 *   offered              `dispatch` (a decision made the task due) or `dispatchDue` (a scan found the task). `DueTasks` defers a
 *                        queued message while older messages of its queue may be unread. With several nodes, `GateHolders`
 *                        forwards a delivery with a shared limit to the node that holds the gates of its instance. The
 *                        delivery then goes through the remaining states on that node.
 *   waiting at a gate    `DeliveryGates` lets it pass when its queue, its destination and its flow control key permit it.
 *   waiting for a slot   `SlotQueue` starts it when the plan, the fair shares, the host and the burst gate permit it.
 *   in flight            `DeliverySender` reads the state of the run and makes one attempt. If it needs a worker that is
 *                        connected only to another node, `Loans` forwards it to that node.
 *   released             The slot is free and the gates have received the result, so the next deliveries move on.
 *   outcome              `DeliveryOutcomes.onOutcome` lets the engine decide on the response. Deliveries that the decision
 *                        makes due start again at `dispatch`.
 *
 * At most one delivery of a slot of a run is in these states. A delivery that is offered while an older one of the same slot
 * is in flight is kept in `LaterDeliveries` and offered when that one ends: the older one may have read a state that is out of
 * date. If a decision replaces the task in the slot by one with other limits, the older delivery is withdrawn from the gates; if
 * it has passed them, it is not sent when it gets its slot, and the delivery in `LaterDeliveries` is offered.
 *
 * Two conditions are checked twice, because a delivery can wait for a long time between the offer and the request:
 * - Whether it may be sent to its destination, at the offer and after the wait for a slot (`mayStart`). A breaker or a person
 *   may have held the destination in the meantime. The delivery then waits at the gate again. A lent delivery is handed back.
 * - Whether this node may start work, when the delivery gets its slot and when the request is sent (`DeliverySender`). The lease
 *   of the node may have expired, and other nodes may have taken over.
 *
 * Keeps invariant 23.
 */
import { ADVANCE_SLOT } from '../../engine/runs/run.js';
import type { DueTask } from '../../ports/stores/store.js';
import type { Backlog } from '../due/due-instances.js';
import type { DueTasks } from '../due/due-tasks.js';
import { type Delivery, type DeliveryLimits, type DeliveryRef, NOT_SENT } from '../gates/delivery.js';
import { DeliveryGates, type DeliveryReceiver } from '../gates/delivery-gates.js';
import type { ControlCommits } from '../gates/gate-deps.js';
import { maxTransitMs } from '../gates/rate-window.js';
import type { Decisions } from '../runs/decisions.js';
import type { Redispatcher } from '../runs/heavy-runs.js';
import type { CachedRun, RunCache } from '../runs/run-cache.js';
import type { RuntimeDeps } from '../runs/runtime-deps.js';
import { detailsOf, type WorkInProgress } from '../runs/work-in-progress.js';
import type { Callbacks } from '../services/callbacks.js';
import type { NoSlotReason, Workload } from '../services/workflow-service.js';
import { asLongDelivery, dueDeliveryOf } from './delivery-of-task.js';
import { GateHolders, type LocalGates } from './gate-holders.js';
import { HandOvers } from './handovers.js';
import { LaterDeliveries } from './later-deliveries.js';
import { Loans } from './loans.js';
import type { DeliveredEvent } from './requests/step-delivery.js';
import { type Attempt, DeliverySender } from './sender.js';
import { type DeliveryStarter, SlotQueue } from './slots/slot-queue.js';

/** The end of an attempt. Its slot is free, and its result was reported to the gates. */
export interface DeliveryOutcome {
  readonly ref: DeliveryRef;
  /** The state of the run from which the request was built. */
  readonly entry: CachedRun;
  /** `entry.giveUpCount` when the state was read. */
  readonly giveUpCount: number;
  /** The response; null if nothing was sent, or the attempt was given up. */
  readonly response: DeliveredEvent | null;
}

export interface DeliveryOutcomes {
  /** Resolves when the outcome is recorded. Resolves with true if a decision was made, which dispatches what it makes due. */
  onOutcome(outcome: DeliveryOutcome): Promise<boolean>;
}

export interface DispatcherParts {
  readonly cache: RunCache;
  readonly decisions: Decisions;
  readonly callbacks: Callbacks;
  readonly due: DueTasks;
  readonly work: WorkInProgress;
  readonly commits: ControlCommits;
  readonly outcomes: DeliveryOutcomes;
}

export class Dispatcher implements DeliveryReceiver, DeliveryStarter, LocalGates, Redispatcher {
  readonly gates: DeliveryGates;
  private readonly deps: RuntimeDeps;
  private readonly parts: DispatcherParts;
  private readonly slots: SlotQueue;
  private readonly sender: DeliverySender;
  /** Tracks which nodes hold which gates; null if no other process uses the store. */
  private readonly holders: GateHolders | null = null;
  /** Deliveries that other nodes make; null if no worker can be connected to another node. */
  readonly loans: Loans | null = null;
  /** Deliveries that wait for an older one of the same slot, or for a retry. */
  private readonly later: LaterDeliveries;
  private isStopping = false;

  constructor(deps: RuntimeDeps, parts: DispatcherParts) {
    const { store, clock, log, workers } = deps;
    this.deps = deps;
    this.parts = parts;
    this.slots = new SlotQueue(deps, this);
    this.later = new LaterDeliveries(this, deps.paceClock);
    const { commits } = parts;
    this.gates = new DeliveryGates({
      store,
      clock,
      log,
      commits,
      exit: this,
      slots: this.slots,
      workers,
      transitMs: maxTransitMs,
    });
    // Registered after the gates, which also listen: deliveries that pass there need the new slots.
    workers.onChange(() => this.onLimitsChanged());
    const { cluster } = deps;
    if (cluster) {
      const sharedDeps = { ...deps, cluster, due: parts.due };
      const handOvers = new HandOvers(sharedDeps);
      this.holders = new GateHolders(sharedDeps, this, handOvers);
      const { nodes } = workers;
      const onSent = this.gates.onRequestSent.bind(this.gates);
      if (nodes) this.loans = new Loans({ ...sharedDeps, nodes, holders: this.holders, handOvers, onSent });
    }
    const gates = { onRequestSent: (ref: DeliveryRef) => this.onRequestSent(ref) };
    this.sender = new DeliverySender(deps, { ...parts, gates, redispatch: this });
  }

  // ---------------------------------------------------------------- due ► offered

  /** Dispatches a delivery that a decision on this node made due, at `dueAt` (Unix ms). */
  dispatch(delivery: Delivery, dueAt: number): void {
    const { instanceId, queue } = delivery.limits;
    if (queue !== undefined && this.holders) this.holders.messageQueued(instanceId);
    else if (queue !== undefined && this.parts.due.defer(delivery, dueAt)) return;
    else if (!this.isInFlight(delivery) && this.gates.withdrawOutdated(delivery)) this.later.keepDueAgain(delivery);
    else this.redispatch(delivery);
  }

  /** Dispatches the delivery of a task that a scan found; with several nodes, this node has claimed it. */
  dispatchDue(task: DueTask): void {
    if (task.queue !== undefined) this.holders?.queuedMessageClaimed(task.instanceId);
    const delivery = dueDeliveryOf(task);
    if (this.loans?.returnIfUnserved(delivery)) return;
    // A lent delivery does not wait for a retry here, because it keeps its slots at its lender.
    if (delivery.limits.lentBy === undefined && this.later.updateRetry(delivery)) return;
    this.redispatch(delivery);
  }

  redispatch(delivery: Delivery): void {
    if (this.isStopping || this.deps.isDeleted(delivery.limits.instanceId)) return;
    this.later.dispatched(delivery);
    if (this.holders) this.holders.offer(delivery);
    else this.offer(delivery);
  }

  // ---------------------------------------------------------------- offered ► waiting at a gate ► waiting for a slot

  offer(delivery: Delivery): void {
    if (!this.gates.offer(delivery)) this.keepDueAgain(delivery);
  }

  onPassedGates(delivery: Delivery, isCounted: boolean): void {
    const run = this.parts.cache.peek(delivery.runKey)?.run;
    const hasStarted = delivery.slot !== ADVANCE_SLOT || (run !== undefined && run.journalLength > 0);
    if (this.slots.add(delivery, isCounted ? 'counted' : hasStarted ? 'continuing' : 'fresh')) return;
    this.keepDueAgain(delivery);
    this.gates.done(delivery, NOT_SENT);
  }

  /** Keeps the delivery for later if an older one of the same slot is in flight. */
  private keepDueAgain(delivery: Delivery): void {
    if (this.isInFlight(delivery)) this.later.keepDueAgain(delivery);
  }

  // ---------------------------------------------------------------- in flight ► released ► outcome

  startDelivery(delivery: Delivery): void {
    this.parts.work.track(this.makeDelivery(delivery));
  }

  onSlotsLeft(): void {
    this.gates.onSlotsFreed();
  }

  /**
   * Makes a delivery. Resolves when everything that follows from it has started. After an unexpected error, only this delivery is
   * dispatched again.
   */
  private async makeDelivery(delivery: Delivery): Promise<void> {
    const { cluster } = this.deps;
    const nodeId = cluster?.nodeId;
    let resolveRecorded: () => void = () => {};
    const outcomeRecorded = new Promise<void>((resolve) => {
      resolveRecorded = resolve;
    });
    try {
      await this.attempt(delivery, outcomeRecorded);
      this.later.attempted(delivery);
    } catch (error) {
      // Other nodes have taken over, or the delivery was handed back to the node that lent it.
      if (cluster?.nodeId !== nodeId || delivery.limits.lentBy !== undefined) throw error;
      this.attemptFailed(delivery, error);
    } finally {
      resolveRecorded();
    }
  }

  /** Dispatches a delivery, or the newer one of its slot, again with increasing delays. Throws the error if the store is unavailable. */
  private attemptFailed(delivery: Delivery, error: unknown): void {
    const { writes, log } = this.deps;
    const nextDelivery = this.later.takeDueAgain(delivery) ?? delivery;
    // A scan finds the delivery when the store is available, perhaps with other limits.
    if (writes.reportFailure(error)) throw error;
    const retryAfterMs = this.later.retryFailed(nextDelivery);
    const { runKey, limits } = delivery;
    const fields = { instanceId: limits.instanceId, runKey, retryAfterMs, error: detailsOf(error) };
    log.error(fields, 'delivery failed unexpectedly, retrying');
  }

  private async attempt(delivery: Delivery, outcomeRecorded: Promise<void>): Promise<void> {
    const { cluster } = this.deps;
    // A replacement exists only if a decision changed the limits while this delivery waited for its slot. Deliveries that become
    // due while this one is in flight are kept later.
    const replacement = this.later.takeDueAgain(delivery);
    if (replacement) {
      this.slots.done(delivery);
      this.gates.done(delivery, NOT_SENT);
      this.onSlotFreed(delivery);
      this.redispatch(replacement);
      return;
    }
    if (!this.gates.mayStart(delivery) || this.deps.isDeleted(delivery.limits.instanceId)) {
      // The destination of the delivery was held while it waited for a slot, so it waits at the gate again, or at that of the
      // node that lent it; or its queue instance was deleted.
      if (this.loans?.returnIfLent(delivery)) this.gates.withdraw(delivery);
      this.slots.done(delivery);
      this.onSlotFreed(delivery);
      return;
    }
    let attempt: Attempt | null = null;
    let nextDelivery: Delivery | undefined;
    let nodeIdAtRelease: string | undefined;
    let endsLoan = false;
    try {
      attempt = await (this.loans?.forward(delivery) ?? this.sender.send(delivery, outcomeRecorded));
    } finally {
      endsLoan = this.loans?.attemptEnded(delivery, attempt) ?? false;
      this.slots.done(delivery);
      // After an error, the next delivery is dispatched later instead of this one.
      if (attempt || endsLoan) nextDelivery = this.later.takeDueAgain(delivery);
      nodeIdAtRelease = cluster?.nodeId;
      this.gates.done(delivery, attempt?.result ?? NOT_SENT);
      this.onSlotFreed(delivery);
    }
    switch (attempt.kind) {
      case 'lease-lost':
        return;
      case 'waits-for-memory':
        if (nextDelivery) this.redispatch(nextDelivery);
        return;
      case 'needs-long-slot':
        this.redispatch(asLongDelivery(delivery));
        return;
      case 'not-attempted':
        if (!endsLoan) this.later.retryUnattempted(nextDelivery ?? delivery);
        return;
      case 'handed-over':
        if (nextDelivery) this.redispatch(nextDelivery);
        return;
      case 'attempted':
    }
    const { entry, giveUpCount, response } = attempt;
    const { decisions, due, outcomes } = this.parts;
    try {
      if (entry && (await outcomes.onOutcome({ ref: delivery, entry, giveUpCount, response }))) return;
    } catch (error) {
      if (nextDelivery) this.later.returnDueAgain(nextDelivery);
      throw error;
    }
    // Other nodes have taken over if the id of this node has changed.
    if (nextDelivery && cluster?.nodeId === nodeIdAtRelease) this.redispatch(nextDelivery);
    const { runKey, limits } = delivery;
    const { instanceId, queue } = limits;
    if (queue === undefined) return;
    if (!cluster) {
      // A scan had found the message before it ended, so it has taken a slot in its queue again.
      if (!entry && !(await decisions.isActive(runKey))) this.gates.leaveQueue({ instanceId, queue, runKey });
      return;
    }
    // Nothing was sent if this node claimed the message before it received the confirmation of the commit that made it due. This
    // node holds the claim, so no scan claims the message again.
    if (!response) due.restart();
    // The message may have ended on another node; then its position in the queue is free.
    this.gates.verifyQueues((key) => decisions.isActive(key));
  }

  private onRequestSent(ref: DeliveryRef): void {
    this.gates.onRequestSent(ref);
    this.loans?.requestSent(ref);
  }

  private onSlotFreed({ limits }: Delivery): void {
    this.gates.onSlotsFreed();
    this.slots.drainSoon();
    this.parts.due.resume(limits.instanceId);
  }

  // ---------------------------------------------------------------- limits and state

  /** Called when a run of the instance was created. */
  runCreated(instanceId: string): void {
    this.slots.runCreated(instanceId);
  }

  /** Called when plans or connected workers have changed: slots may be free. */
  onLimitsChanged(): void {
    if (this.isStopping) return;
    this.gates.onSlotsFreed();
    this.slots.drainSoon();
  }

  /** Called when the store, or one of its servers, accepts writes again. */
  resume(): void {
    // All due tasks are read again, also those that have failed.
    this.later.forgetRetries();
    this.onLimitsChanged();
  }

  get backlog(): Backlog {
    return this.slots.ready;
  }
  /** Whether no delivery waits for a slot or is in flight, and the gates are idle. Deliveries may wait at the gates. */
  get isIdle(): boolean {
    return this.slots.isIdle && this.gates.isIdle;
  }
  /** Numbers of deliveries, and of instances with state in memory. */
  get workload(): Workload {
    const { inFlight, size } = this.slots.ready;
    return {
      deliveriesInFlight: inFlight,
      waiting: size - inFlight,
      instances: this.gates.size,
      gates: () => this.gates.counts(),
    };
  }
  get deliveriesInFlight(): readonly Delivery[] {
    return this.slots.ready.deliveriesInFlight;
  }
  /** Returns how many deliveries of the instance are in flight. */
  inFlight(instanceId: string): number {
    return this.slots.ready.inFlightOf(instanceId);
  }
  /** Returns how many deliveries of the instance may be in flight. */
  maxInFlight(instanceId: string): number {
    return this.slots.ready.maxInFlightOf(instanceId);
  }
  isInFlight(ref: DeliveryRef): boolean {
    return this.slots.ready.isInFlight(ref);
  }
  /** Returns why a delivery waits here for a slot; null if it does not. */
  noSlotReason(ref: DeliveryRef): NoSlotReason | null {
    return this.slots.ready.noSlotReason(ref) ?? (this.sender.waitsForMemory(ref) ? 'memory' : null);
  }

  // ---------------------------------------------------------------- several nodes

  /** Returns whether this process holds the gates of the instance. */
  holdsGates(instanceId: string): boolean {
    return this.holders?.holds(instanceId) ?? true;
  }
  /** Instances whose gates this node holds. */
  get instancesWithGates(): readonly string[] {
    return this.holders?.heldInstances ?? [];
  }
  /** Returns whether a shared limit applies to the delivery. */
  isLimited(limits: DeliveryLimits): boolean {
    return this.holders?.isLimited(limits) ?? false;
  }
  /** Forgets which nodes hold which gates, because it may have changed. */
  forgetHolders(): void {
    this.holders?.forget();
  }

  /** Drops what waits here, because other nodes have taken it over. Deliveries in flight continue to their end. */
  onWorkTakenOver(): void {
    this.loans?.clear();
    this.slots.clear();
    this.forgetWaiting();
    this.gates.reset();
  }

  /** Removes the delivery of a task that no longer exists, unless it waits for a slot or is in flight. */
  withdraw(ref: DeliveryRef): void {
    this.parts.due.withdraw(ref);
    this.later.withdraw(ref);
    this.gates.withdraw(ref);
    this.sender.withdraw(ref);
  }

  /** Removes the waiting deliveries of a run that has ended on another node. */
  onEndedElsewhere(runKey: string): void {
    this.later.withdrawRun(runKey);
    this.gates.withdrawRun(runKey);
    this.sender.withdrawRun(runKey);
  }

  /** Removes the waiting deliveries of a deleted queue instance. */
  dropInstance(instanceId: string): void {
    this.later.drop(instanceId);
    this.gates.drop(instanceId);
    this.sender.dropInstance(instanceId);
    this.slots.drainSoon();
  }

  // ---------------------------------------------------------------- stop

  /** Accepts and starts no more deliveries. */
  stop(): void {
    this.isStopping = true;
    this.later.stop();
    this.slots.stop();
  }

  /** Aborts the failure callbacks in flight, and no longer waits for deliveries that other nodes make. */
  abort(): void {
    this.loans?.clear();
    this.sender.abort();
  }

  /** Forgets the deliveries that wait outside the gates and slots: for a retry, for memory, or for an older delivery. */
  forgetWaiting(): void {
    this.later.forget();
    this.sender.forgetWaiting();
  }
}
