/**
 * One flow control key: its limits, the deliveries that wait for it in the order of their offers, and those in flight. A
 * delivery passes as soon as it may: nothing polls, and one timer is set to the end of a full rate window.
 */
import type { FlowControl, FlowControlState } from '../../engine/runs/run.js';
import { poolOf } from '../../ports/workers.js';
import type { FlowControlStatus, WaitReason } from '../services/workflow-service.js';
import { type DeliveryLimits, type DeliveryResult, hostOf } from './delivery.js';
import type { GateDeps } from './gate-deps.js';
import { areSameLimits, type KeyLimits, limitsAfterTrigger } from './limit-changes.js';
import {
  grantableStarts,
  isClosing,
  newWindow,
  nextWindowAt,
  type Rate,
  type RateWindow,
  restoredWindow,
  runningWindow,
  unusedGrants,
} from './rate-window.js';
import { type GatedDelivery, WaitList } from './wait-list.js';

/** Maximum number of deliveries that pass before other work of the process continues. */
const MAX_PER_TURN = 1_000;
/** Maximum number of deliveries that are passed over to find one whose destination has a free slot. */
const LOOK_AHEAD = 128;

type StoredWindow = FlowControlState['window'];

const NO_LIMITS: KeyLimits = {
  parallelism: null,
  rate: null,
  periodMs: null,
  paused: false,
  parallelismPinned: false,
  ratePinned: false,
};

/** Returns whether the key limits nothing. */
const isUnlimited = ({ paused, parallelism, rate }: KeyLimits): boolean => !paused && parallelism === null && rate === null;

/** The instance of a key. */
export interface FlowKeyInstance {
  readonly instanceId: string;
  /** Returns whether the destination of the delivery is held, and the delivery is not its probe. */
  isHeld(delivery: GatedDelivery): boolean;
  /** Makes the delivery wait for its destination. */
  waitAtDestination(delivery: GatedDelivery): void;
}

export class FlowKey {
  readonly key: string;
  private readonly instance: FlowKeyInstance;
  private readonly deps: GateDeps;
  private readonly waitList = new WaitList();
  /** Limits of the key; null until they are loaded. */
  private limits: KeyLimits | null = null;
  /** Whether another node has stored limits while this node was reading them. */
  hasChangedDuringLoad = false;
  /** Number of changes of the limits. */
  private changeCount = 0;
  private window: RateWindow | null = null;
  /** Starts that are being stored; a change that ends the window in the meantime voids them. */
  private grant: { readonly base: RateWindow | null; readonly window: NonNullable<StoredWindow> } | null = null;
  /** The latest limits of a trigger that arrived while the state was being loaded. */
  private earlyLimits: FlowControl | null = null;
  /** Number of unsent deliveries of this and earlier rate windows. Each may arrive in any window. */
  private unsentCount = 0;
  private hasStoredState = false;
  private inFlight = 0;
  private isPumping = false;
  private isPumpScheduled = false;
  private isStopped = false;
  private cancelTimer: (() => void) | null = null;

  constructor(key: string, instance: FlowKeyInstance, deps: GateDeps) {
    this.key = key;
    this.instance = instance;
    this.deps = deps;
  }

  get isLoaded(): boolean {
    return this.limits !== null;
  }
  /** Whether the store knows the key, because limits were set or the key was paused at some time. */
  get isRegistered(): boolean {
    return this.hasStoredState;
  }
  /** Whether the key can be removed from memory: the store has all of its state. */
  get isIdle(): boolean {
    if (!this.limits || this.waitList.size > 0 || this.inFlight > 0 || this.grant || this.isPumpScheduled) return false;
    const { rate } = this;
    return !rate || !runningWindow(this.window, rate, this.deps.clock.now());
  }
  /** Whether work is in progress that does not depend on time. */
  get isBusy(): boolean {
    return !this.limits || this.isPumpScheduled;
  }

  /** Sets the stored state; null if nothing is stored. */
  load(state: FlowControlState | null): void {
    if (this.limits) return;
    this.limits = state ?? NO_LIMITS;
    this.hasStoredState = state !== null;
    this.window = restoredWindow(state?.window ?? null, { now: this.deps.clock.now(), periodMs: state?.periodMs ?? null });
    if (this.earlyLimits) this.applyTrigger(this.earlyLimits);
    this.earlyLimits = null;
    this.pump();
  }

  /** Applies limits of a trigger, which are durable. */
  applyTrigger(flowControl: FlowControl): void {
    const current = this.limits;
    if (!current) {
      const hasLimits = flowControl.parallelism !== undefined || flowControl.rate !== undefined;
      if (hasLimits || !this.earlyLimits) this.earlyLimits = flowControl;
      return;
    }
    this.hasStoredState = true;
    const limits = limitsAfterTrigger(current, flowControl);
    if (!areSameLimits(limits, current)) this.setLimits(limits);
  }

  /** Applies limits that a person set. They also affect deliveries that wait. */
  setLimits(limits: KeyLimits): void {
    const { parallelism, rate, periodMs, paused, parallelismPinned, ratePinned } = limits;
    // A longer period does not extend a window that has ended or may have ended.
    const { rate: previousRate } = this;
    if (previousRate) {
      const now = this.deps.clock.now();
      this.window = runningWindow(this.window, previousRate, now);
      if (this.window && isClosing(this.window, previousRate, now)) this.window.isClosed = true;
    }
    this.limits = { parallelism, rate, periodMs, paused, parallelismPinned, ratePinned };
    this.changeCount++;
    this.hasStoredState = true;
    if (rate === null) this.endWindow();
    this.clearTimer();
    this.pump();
  }

  /** Applies the limits that another node has stored. `read` reads the stored state. Before the key is loaded, only notes the change. */
  async reload(read: () => Promise<FlowControlState | null>): Promise<void> {
    if (!this.isLoaded) {
      this.hasChangedDuringLoad = true;
      return;
    }
    let [changeCount, state] = [-1, null as FlowControlState | null];
    // A read may be older than a change that was applied in the meantime.
    while (changeCount !== this.changeCount) {
      changeCount = this.changeCount;
      state = await read();
    }
    if (state && !areSameLimits(this.state, state)) this.setLimits(state);
  }

  /** Ends the rate window. */
  resetRate(): void {
    this.endWindow();
    this.clearTimer();
    this.pump();
  }

  /** Lets the delivery pass immediately, or makes it wait. */
  offer(delivery: GatedDelivery): void {
    const { limits } = this;
    if (limits && isUnlimited(limits) && this.waitList.size === 0) this.admit(delivery);
    else {
      this.waitList.add(delivery);
      this.pump();
    }
  }

  /** Returns the waiting deliveries in the order in which they pass. The key must not change during the iteration. */
  inOrder(): Iterable<GatedDelivery> {
    return this.waitList.inOrder();
  }

  /** Called when a delivery that had passed is done or did not start. */
  release(delivery: GatedDelivery, outcome: DeliveryResult['kind']): void {
    const { window } = delivery;
    this.inFlight--;
    delivery.window = null;
    if (window) this.countAsSent(delivery, window);
    if (window && window === this.window) {
      if (outcome === 'not-sent') window.startsMade--;
      if (!window.isSent) {
        window.sentBy = this.deps.clock.now();
        this.clearTimer();
      }
      if (outcome === 'delivered' && window.isSent && window.arrivedBy === null) {
        window.arrivedBy = this.deps.clock.now();
        // The end of the window is now known more precisely and may be earlier.
        this.clearTimer();
      }
    }
    this.pump();
  }

  /** Returns whether, as far as is known, a delivery with these limits would start now. */
  couldStart(deliveryLimits: DeliveryLimits): boolean {
    const { limits, rate } = this;
    if (!limits) return true;
    if (limits.paused || (limits.parallelism !== null && this.inFlight >= limits.parallelism)) return false;
    if (!rate) return true;
    if (this.deps.slots.free(deliveryLimits) <= 0) return false;
    return !this.isUsedUp(runningWindow(this.window, rate, this.deps.clock.now()), rate);
  }

  /** Called when the request of a delivery that had passed is sent. */
  onRequestSent(delivery: GatedDelivery): void {
    const { window } = delivery;
    if (!window || !delivery.isUnsent) return;
    this.countAsSent(delivery, window);
    const now = this.deps.clock.now();
    if (!window.isSent) {
      window.isSent = true;
      window.startedAt = now;
      window.sentBy = now;
    } else if (!this.isLate(window, now)) return;
    // A request that is sent so late starts a window at the destination, unless another window has started and counts it.
    else if (window === this.window || !this.window) this.startWindow(now);
    this.clearTimer();
    this.pump();
  }

  /** Lets all deliveries pass that may pass now. */
  pump(): void {
    // A delivery that passes may be done immediately and call this again; the loop below handles that.
    if (this.isPumping || this.isStopped) return;
    this.isPumping = true;
    try {
      for (let movedCount = 0; this.moveOne(); movedCount++) {
        if (movedCount < MAX_PER_TURN) continue;
        this.pumpLater();
        return;
      }
    } finally {
      this.isPumping = false;
    }
  }

  /** The state to store. */
  get state(): FlowControlState {
    const { window, grant } = this;
    const storedWindow = window && { startedAt: window.startedAt, granted: window.granted };
    return { key: this.key, ...(this.limits ?? NO_LIMITS), window: grant?.window ?? storedWindow };
  }

  get status(): FlowControlStatus {
    const { window } = this;
    const shownWindow = window && { startedAt: window.startedAt, granted: window.startsMade };
    return { ...this.state, window: shownWindow, waiting: this.waitList.size, inFlight: this.inFlight };
  }

  /** Returns why a delivery waits here; null if it does not. */
  reasonFor(delivery: GatedDelivery): WaitReason | null {
    const { limits, rate, waitList } = this;
    if (delivery.list !== waitList || !limits) return null;
    const window = rate && runningWindow(this.window, rate, this.deps.clock.now());
    const place = waitList.positionOf(delivery);
    const reason = { kind: 'flow-control', key: this.key, place, waiting: waitList.size, until: null } as const;
    if (limits.paused) return { ...reason, because: 'paused' };
    if (rate && window && this.isUsedUp(window, rate)) {
      const until = nextWindowAt(window, rate);
      return { ...reason, because: 'rate', until: Number.isFinite(until) ? until : null };
    }
    const isFull = limits.parallelism !== null && this.inFlight >= limits.parallelism;
    // Otherwise the key does not hold it back: it starts as soon as a slot is free.
    return isFull ? { ...reason, because: 'parallelism' } : null;
  }

  stop(): void {
    this.isStopped = true;
    this.clearTimer();
  }

  private countAsSent(delivery: GatedDelivery, window: RateWindow): void {
    if (!delivery.isUnsent) return;
    delivery.isUnsent = false;
    window.unsentCount--;
    this.unsentCount--;
  }

  private isLate(window: RateWindow, now: number): boolean {
    return this.rate !== null && isClosing(window, this.rate, now);
  }

  /** Starts a window that counts the request that was just sent and all unsent ones. */
  private startWindow(now: number): void {
    const startsMade = 1 + this.unsentCount;
    this.window = { ...newWindow(now, startsMade), startsMade, isSent: true };
  }

  private get rate(): Rate | null {
    const { limits } = this;
    if (limits?.rate == null || limits.periodMs === null) return null;
    const { rate: starts, periodMs } = limits;
    return { starts, periodMs, transitMs: this.deps.transitMs(periodMs) };
  }

  /** Returns whether no more deliveries may start in this window. */
  private isUsedUp(window: RateWindow | null, rate: Rate): boolean {
    return (
      isClosing(window, rate, this.deps.clock.now()) || (unusedGrants(window, rate) <= 0 && grantableStarts(window, rate) <= 0)
    );
  }

  /** Lets one delivery pass, or moves one to the list of its destination. Returns false if neither is possible. */
  private moveOne(): boolean {
    const { limits, rate, waitList, instance, deps } = this;
    const { first } = waitList;
    if (!first || !limits || limits.paused) return false;
    if (limits.parallelism !== null && this.inFlight >= limits.parallelism) return false;
    if (instance.isHeld(first)) {
      waitList.remove(first);
      instance.waitAtDestination(first);
      return true;
    }
    if (!rate) {
      waitList.remove(first);
      this.admit(first);
      return true;
    }
    this.window = runningWindow(this.window, rate, deps.clock.now());
    if (this.window && this.isUsedUp(this.window, rate)) {
      this.setTimer(nextWindowAt(this.window, rate));
      return false;
    }
    // Unsent requests may use up a new window completely.
    if (!this.window && this.unsentCount >= rate.starts) return false;
    if (unusedGrants(this.window, rate) <= 0) {
      this.requestGrant(rate, limits);
      return false;
    }
    const [next] = this.findStartable(1, (deliveryLimits) => deps.slots.seekGranted(deliveryLimits, this));
    if (!next || !this.window) return false;
    waitList.remove(next);
    this.window.startsMade++;
    this.window.unsentCount++;
    this.unsentCount++;
    next.window = this.window;
    next.isUnsent = true;
    this.admit(next);
    return true;
  }

  private admit(delivery: GatedDelivery): void {
    this.inFlight++;
    this.deps.listener.onPassedAllGates(delivery);
  }

  /** Returns up to `maxCount` of the first deliveries that could start now. One without a free slot does not delay others. */
  private findStartable(maxCount: number, freeFor: (deliveryLimits: DeliveryLimits) => number): GatedDelivery[] {
    const deliveries: GatedDelivery[] = [];
    const freeSlots = new Map<string, number>();
    const takenSlots = new Map<string, number>();
    let passedOverCount = 0;
    for (const delivery of this.waitList.inOrder()) {
      const { workers, isLong } = delivery.limits;
      const host = hostOf(delivery.limits);
      const slotKind = isLong ? `${host} long` : host;
      const slots = freeSlots.get(slotKind) ?? freeFor(delivery.limits);
      freeSlots.set(slotKind, slots);
      // Workflows of an app may share the slots of its workers.
      const sharedKind = workers === undefined ? slotKind : poolOf(workers);
      const taken = takenSlots.get(sharedKind) ?? 0;
      const canStart = slots > taken && !this.instance.isHeld(delivery);
      if (canStart) {
        takenSlots.set(sharedKind, taken + 1);
        deliveries.push(delivery);
      } else passedOverCount++;
      if (deliveries.length === maxCount || passedOverCount === LOOK_AHEAD) break;
    }
    return deliveries;
  }

  /** Stores a grant of as many starts as can be made now. */
  private requestGrant(rate: Rate, limits: KeyLimits): void {
    if (this.grant) return;
    const { deps, window: base } = this;
    const { instanceId } = this.instance;
    // A new window also counts the unsent requests of earlier windows.
    const carriedStarts = base ? 0 : this.unsentCount;
    const startsRemaining = grantableStarts(base, rate) - carriedStarts;
    const allowedByKey =
      limits.parallelism === null ? startsRemaining : Math.min(startsRemaining, limits.parallelism - this.inFlight);
    const allowedByInstance = deps.slots.seekOf(instanceId, this);
    // Even if there is no free slot, the key seeks one, so that it waits for its turn.
    const maxStarts = Math.max(1, Math.min(allowedByKey, allowedByInstance));
    const deliveries = this.findStartable(maxStarts, (deliveryLimits) => deps.slots.seek(deliveryLimits, this));
    if (deliveries.length === 0) return;
    const granted = (base?.granted ?? carriedStarts) + deliveries.length;
    const window = { startedAt: base?.startedAt ?? deps.clock.now(), granted };
    const grant = { base, window };
    this.grant = grant;
    const releaseSlots = deps.slots.keep(deliveries);
    deps.control.write({ kind: 'set-flow-window', instanceId, key: this.key, window }).then(
      () => {
        releaseSlots(() => {
          if (this.grant !== grant) return;
          this.grant = null;
          // The granted starts happen from now on, so a new window starts now.
          if (!base && this.window) return this.pump();
          if (!base) this.window = { ...newWindow(deps.clock.now(), granted), startsMade: carriedStarts };
          else if (this.window === base) base.granted = granted;
          this.pump();
        });
      },
      () => {
        releaseSlots(() => {});
        // Nothing was granted. The grant counts as being stored until the next try.
        deps.control.retryLater(() => {
          if (this.grant !== grant) return;
          this.grant = null;
          this.pump();
        });
      },
    );
  }

  private endWindow(): void {
    this.window = null;
    this.grant = null;
  }

  /** Sets a timer for `at`, unless it is infinite: then each request that is sent or done checks again. */
  private setTimer(at: number): void {
    if (this.cancelTimer || at === Number.POSITIVE_INFINITY) return;
    this.cancelTimer = this.deps.clock.setTimer(at, () => {
      this.cancelTimer = null;
      this.pump();
    });
  }

  private clearTimer(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }

  private pumpLater(): void {
    if (this.isPumpScheduled) return;
    this.isPumpScheduled = true;
    this.deps.clock.endOfTurn(() => {
      this.isPumpScheduled = false;
      this.pump();
    });
  }
}
