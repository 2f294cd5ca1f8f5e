/**
 * One flow control key: what it allows, what waits for it in the order of
 * arrival, and what is in flight. It lets through by itself whatever may go:
 * nothing polls, and one timer stands at the end of a full rate window.
 */
import type { FlowControl, FlowControlState } from '../../engine/runs/run.js';
import type { FlowControlStatus, WaitReason } from '../services/workflow-service.js';
import { broughtLimits, type KeyLimits, sameLimits } from './limit-changes.js';
import type { DeliveryResult, Passage } from './passage.js';
import {
  endOf,
  isClosing,
  newWindow,
  type Rate,
  type RateWindow,
  restoredWindow,
  runningWindow,
  startsLeft,
  startsReady,
} from './rate-window.js';
import type { RoomTurns } from './room.js';
import { type Delivery, WaitList } from './wait-list.js';

/** So many are let through in one go; then it is the turn of others. */
const AT_ONCE = 1_000;
/** So far behind the first one that waits it looks for one whose destination has room. */
const LOOK_AHEAD = 128;

type KeptWindow = FlowControlState['window'];

const NO_LIMITS: KeyLimits = {
  parallelism: null,
  rate: null,
  periodMs: null,
  paused: false,
  parallelismPinned: false,
  ratePinned: false,
};

/** It holds nothing. */
const isOpen = ({ paused, parallelism, rate }: KeyLimits): boolean => !paused && parallelism === null && rate === null;

/** What a key needs from around it. */
export interface FlowKeySurroundings {
  readonly instanceId: string;
  now(): number;
  setTimer(atMs: number, fire: () => void): () => void;
  /** How long requests may take to arrive, for a rate of this period. */
  transitMs(periodMs: number): number;
  endOfTurn(fire: () => void): void;
  /** Something that failed is to be tried again soon. */
  tryLater(again: () => void): void;
  /** Resolves when it is durable. */
  writeWindow(key: string, window: KeptWindow): Promise<void>;
  /** The destination of the delivery is held, and it is no probe. */
  isHeld(delivery: Delivery): boolean;
  /** It waits for its destination from now on. */
  stepAside(delivery: Delivery): void;
  readonly rooms: RoomTurns;
  pass(delivery: Delivery): void;
}

export class FlowKey {
  readonly key: string;
  private readonly surroundings: FlowKeySurroundings;
  private readonly list = new WaitList();
  /** Null until it is known. */
  private limits: KeyLimits | null = null;
  private window: RateWindow | null = null;
  /** Starts that are being written down; whatever ends the window meanwhile makes them void. */
  private grant: { readonly base: RateWindow | null; readonly window: NonNullable<KeptWindow> } | null = null;
  /** The latest limits that came while its state was read. */
  private early: FlowControl | null = null;
  /** Deliveries of rate windows, also of earlier ones, whose requests are still to leave: each may arrive in any window. */
  private toLeave = 0;
  private known = false;
  private flying = 0;
  private pumping = false;
  private pumpsLater = false;
  private stopped = false;
  private cancelTimer: (() => void) | null = null;

  constructor(key: string, surroundings: FlowKeySurroundings) {
    this.key = key;
    this.surroundings = surroundings;
  }

  get loaded(): boolean {
    return this.limits !== null;
  }
  /** Somebody has set limits for it, or paused it, at some time. */
  get registered(): boolean {
    return this.known;
  }
  /** It can be let go: the store knows all that it knows. */
  get idle(): boolean {
    if (!this.limits || this.list.size > 0 || this.flying > 0 || this.grant || this.pumpsLater) return false;
    const { rate } = this;
    return !rate || !runningWindow(this.window, rate, this.surroundings.now());
  }
  /** It works on what does not depend on time. */
  get busy(): boolean {
    return !this.limits || this.pumpsLater;
  }

  /** Its state was read; `null` when nobody has set anything. */
  load(state: FlowControlState | null): void {
    if (this.limits) return;
    this.limits = state ?? NO_LIMITS;
    this.known = state !== null;
    this.window = restoredWindow(state?.window ?? null, { now: this.surroundings.now(), periodMs: state?.periodMs ?? null });
    if (this.early) this.note(this.early);
    this.early = null;
    this.pump();
  }

  /** Limits that a trigger brought, durable by now. */
  note(flowControl: FlowControl): void {
    const now = this.limits;
    if (!now) {
      const hasLimits = flowControl.parallelism !== undefined || flowControl.rate !== undefined;
      if (hasLimits || !this.early) this.early = flowControl;
      return;
    }
    this.known = true;
    const limits = broughtLimits(now, flowControl);
    if (!sameLimits(limits, now)) this.set(limits);
  }

  /** What a person set. It takes effect on what waits, too. */
  set(limits: KeyLimits): void {
    const { parallelism, rate, periodMs, paused, parallelismPinned, ratePinned } = limits;
    // A window that has ended, or may have, is not made longer by a longer period.
    const { rate: before } = this;
    if (before) {
      const now = this.surroundings.now();
      this.window = runningWindow(this.window, before, now);
      if (this.window && isClosing(this.window, before, now)) this.window.closed = true;
    }
    this.limits = { parallelism, rate, periodMs, paused, parallelismPinned, ratePinned };
    this.known = true;
    if (rate === null) this.endWindow();
    this.clearTimer();
    this.pump();
  }

  /** The rate window ends now. */
  resetRate(): void {
    this.endWindow();
    this.clearTimer();
    this.pump();
  }

  /** It waits, or passes at once. */
  offer(delivery: Delivery): void {
    const { limits } = this;
    if (limits && isOpen(limits) && this.list.size === 0) this.letPass(delivery);
    else {
      this.list.add(delivery);
      this.pump();
    }
  }

  /** Those that wait, from the one that goes next on. The key must not be used meanwhile. */
  inOrder(): Iterable<Delivery> {
    return this.list.inOrder();
  }

  /** A delivery that had passed is done, or did not start. */
  release(delivery: Delivery, outcome: DeliveryResult['kind']): void {
    const { window } = delivery;
    this.flying--;
    delivery.window = null;
    if (window) this.noLongerToLeave(delivery, window);
    if (window && window === this.window) {
      if (outcome === 'not-made') window.made--;
      if (!window.hasLeft) {
        window.leftBy = this.surroundings.now();
        this.clearTimer();
      }
      if (outcome === 'delivered' && window.hasLeft && window.arrivedBy === null) {
        window.arrivedBy = this.surroundings.now();
        // Its end is known better, and may be earlier.
        this.clearTimer();
      }
    }
    this.pump();
  }

  /** Whether a delivery with this passage that came now would start now; as far as is known. */
  couldStart(passage: Passage): boolean {
    const { limits, rate } = this;
    if (!limits) return true;
    if (limits.paused || (limits.parallelism !== null && this.flying >= limits.parallelism)) return false;
    if (!rate) return true;
    if (this.surroundings.rooms.room(passage) <= 0) return false;
    return !this.isUsedUp(runningWindow(this.window, rate, this.surroundings.now()), rate);
  }

  /** The request of a delivery that had passed leaves. */
  left(delivery: Delivery): void {
    const { window } = delivery;
    if (!window || !delivery.toLeave) return;
    this.noLongerToLeave(delivery, window);
    const now = this.surroundings.now();
    if (!window.hasLeft) {
      window.hasLeft = true;
      window.startedAt = now;
      window.leftBy = now;
    } else if (!this.isLate(window, now)) return;
    // One that leaves so late begins a window at the destination, unless another has begun: there it is counted.
    else if (window === this.window || !this.window) this.beginBy(now);
    this.clearTimer();
    this.pump();
  }

  /** Lets through what may go. */
  pump(): void {
    // What is let through may be done at once and call this again: the loop below goes on with it.
    if (this.pumping || this.stopped) return;
    this.pumping = true;
    try {
      for (let moved = 0; this.moveOne(); moved++) {
        if (moved < AT_ONCE) continue;
        this.pumpLater();
        return;
      }
    } finally {
      this.pumping = false;
    }
  }

  /** What the store is to know. */
  get state(): FlowControlState {
    const { window, grant } = this;
    const kept = window && { startedAt: window.startedAt, granted: window.granted };
    return { key: this.key, ...(this.limits ?? NO_LIMITS), window: grant?.window ?? kept };
  }

  get status(): FlowControlStatus {
    const { window } = this;
    const shown = window && { startedAt: window.startedAt, granted: window.made };
    return { ...this.state, window: shown, waiting: this.list.size, inFlight: this.flying };
  }

  /** Why a delivery waits in its list; null when it does not. */
  reasonFor(delivery: Delivery): WaitReason | null {
    const { limits, rate, list } = this;
    if (delivery.list !== list || !limits) return null;
    const window = rate && runningWindow(this.window, rate, this.surroundings.now());
    const place = list.placeOf(delivery);
    const reason = { kind: 'flow-control', key: this.key, place, waiting: list.size, until: null } as const;
    if (limits.paused) return { ...reason, because: 'paused' };
    if (rate && window && this.isUsedUp(window, rate)) {
      const until = endOf(window, rate);
      return { ...reason, because: 'rate', until: Number.isFinite(until) ? until : null };
    }
    const placesTaken = limits.parallelism !== null && this.flying >= limits.parallelism;
    // Else its limits do not hold it: it is about to start, as soon as there is room for it.
    return placesTaken ? { ...reason, because: 'parallelism' } : null;
  }

  stop(): void {
    this.stopped = true;
    this.clearTimer();
  }

  private noLongerToLeave(delivery: Delivery, window: RateWindow): void {
    if (!delivery.toLeave) return;
    delivery.toLeave = false;
    window.toLeave--;
    this.toLeave--;
  }

  private isLate(window: RateWindow, now: number): boolean {
    return this.rate !== null && isClosing(window, this.rate, now);
  }

  /** A window that nobody asked for: of what left now, and of what is still to leave. */
  private beginBy(now: number): void {
    const made = 1 + this.toLeave;
    this.window = { ...newWindow(now, made), made, hasLeft: true };
  }

  private get rate(): Rate | null {
    const { limits } = this;
    if (limits?.rate == null || limits.periodMs === null) return null;
    const { rate: starts, periodMs } = limits;
    return { starts, periodMs, transitMs: this.surroundings.transitMs(periodMs) };
  }

  /** Nothing more starts in this window. */
  private isUsedUp(window: RateWindow | null, rate: Rate): boolean {
    return isClosing(window, rate, this.surroundings.now()) || (startsReady(window, rate) <= 0 && startsLeft(window, rate) <= 0);
  }

  /** Lets one through, or moves one out of the way; false when nothing can move. */
  private moveOne(): boolean {
    const { limits, rate, list, surroundings } = this;
    const first = list.first;
    if (!first || !limits || limits.paused) return false;
    if (limits.parallelism !== null && this.flying >= limits.parallelism) return false;
    if (surroundings.isHeld(first)) {
      list.remove(first);
      surroundings.stepAside(first);
      return true;
    }
    if (!rate) {
      list.remove(first);
      this.letPass(first);
      return true;
    }
    this.window = runningWindow(this.window, rate, surroundings.now());
    if (this.window && this.isUsedUp(this.window, rate)) {
      this.setTimer(endOf(this.window, rate));
      return false;
    }
    // All that a new window has may be taken by what is still to leave.
    if (!this.window && this.toLeave >= rate.starts) return false;
    if (startsReady(this.window, rate) <= 0) {
      this.askForStarts(rate, limits);
      return false;
    }
    const [next] = this.startable(1, (passage) => surroundings.rooms.seekGranted(passage, this));
    if (!next || !this.window) return false;
    list.remove(next);
    this.window.made++;
    this.window.toLeave++;
    this.toLeave++;
    next.window = this.window;
    next.toLeave = true;
    this.letPass(next);
    return true;
  }

  private letPass(delivery: Delivery): void {
    this.flying++;
    this.surroundings.pass(delivery);
  }

  /**
   * The first ones that could start at once, `most` of them at the most. One whose destination has no room does not
   * hold up others to elsewhere.
   */
  private startable(most: number, roomFor: (passage: Passage) => number): Delivery[] {
    const found: Delivery[] = [];
    const rooms = new Map<string, number>();
    let passedOver = 0;
    for (const delivery of this.list.inOrder()) {
      const { origin, isLong } = delivery.passage;
      const place = isLong ? `${origin} long` : origin;
      let room = rooms.get(place);
      if (room === undefined) room = roomFor(delivery.passage);
      const starts = room > 0 && !this.surroundings.isHeld(delivery);
      rooms.set(place, starts ? room - 1 : room);
      if (starts) found.push(delivery);
      else passedOver++;
      if (found.length === most || passedOver === LOOK_AHEAD) break;
    }
    return found;
  }

  /** Writes down as many starts as can be made now. */
  private askForStarts(rate: Rate, limits: KeyLimits): void {
    if (this.grant) return;
    const { surroundings, window: base } = this;
    const carried = base ? 0 : this.toLeave;
    const left = startsLeft(base, rate) - carried;
    const places = limits.parallelism === null ? left : Math.min(left, limits.parallelism - this.flying);
    const ofInstance = surroundings.rooms.seekOf(surroundings.instanceId, this);
    // Without any room it looks all the same, and so waits for its turn.
    const most = Math.max(1, Math.min(places, ofInstance));
    const chosen = this.startable(most, (passage) => surroundings.rooms.seek(passage, this));
    const starts = chosen.length;
    if (starts === 0) return;
    const granted = { startedAt: base?.startedAt ?? surroundings.now(), granted: (base?.granted ?? carried) + starts };
    const grant = { base, window: granted };
    this.grant = grant;
    const giveRoomBack = surroundings.rooms.keep(chosen);
    surroundings.writeWindow(this.key, granted).then(
      () => {
        giveRoomBack(() => {
          if (this.grant !== grant) return;
          this.grant = null;
          // The starts are made from now on: a new window begins now.
          if (!base && this.window) return this.pump();
          if (!base) this.window = { ...newWindow(surroundings.now(), granted.granted), made: carried };
          else if (this.window === base) base.granted = granted.granted;
          this.pump();
        });
      },
      () => {
        giveRoomBack(() => {});
        // Nothing was granted. It counts as being written until the next try.
        surroundings.tryLater(() => {
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

  /** At no time when it is infinite: whoever leaves, or is done, looks again. */
  private setTimer(at: number): void {
    if (this.cancelTimer || at === Number.POSITIVE_INFINITY) return;
    this.cancelTimer = this.surroundings.setTimer(at, () => {
      this.cancelTimer = null;
      this.pump();
    });
  }

  private clearTimer(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }

  private pumpLater(): void {
    if (this.pumpsLater) return;
    this.pumpsLater = true;
    this.surroundings.endOfTurn(() => {
      this.pumpsLater = false;
      this.pump();
    });
  }
}
