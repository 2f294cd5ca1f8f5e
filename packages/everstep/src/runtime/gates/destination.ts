/**
 * One destination of one instance: whether it is held, by its breaker or by
 * hand, and what waits until it is not. While the breaker holds it, one
 * delivery at a time is let through, so often and no oftener.
 */
import type { BreakerSettings, DestinationHold } from '../../engine/runs/run.js';
import type { DestinationStatus, WaitReason } from '../services/workflow-service.js';
import { GOOD_STANDING, type Standing, standingAfter } from './breaker.js';
import type { DeliveryResult } from './passage.js';
import { type Delivery, WaitList } from './wait-list.js';

/** So many are let go in one go; then it is the turn of others. */
const AT_ONCE = 1_000;

/** What a destination needs from around it. */
export interface DestinationSurroundings {
  now(): number;
  setTimer(atMs: number, fire: () => void): () => void;
  endOfTurn(fire: () => void): void;
  settings(): BreakerSettings;
  /** Whether nothing but its destination keeps the delivery from starting; as far as is known. */
  couldStart(delivery: Delivery): boolean;
  /** It goes on to whatever it has to pass behind its destination. */
  goOn(delivery: Delivery): void;
  /** The hold has changed and is to be written down. */
  holdChanged(): void;
}

export class Destination {
  readonly origin: string;
  private readonly surroundings: DestinationSurroundings;
  private readonly list = new WaitList();
  private present: Standing;
  /** What was let through to see whether it is back: it is in flight, or waits at its key. */
  private probe: Delivery | null = null;
  private releasesLater = false;
  private stopped = false;
  private cancelTimer: (() => void) | null = null;

  constructor(origin: string, surroundings: DestinationSurroundings, standing: Standing = GOOD_STANDING) {
    this.origin = origin;
    this.surroundings = surroundings;
    this.present = standing;
  }

  get standing(): Standing {
    return this.present;
  }
  /** Whether a delivery that is offered has to wait here: behind those that are not let go yet, too. */
  get keepsOut(): boolean {
    return this.present.hold !== null || this.list.size > 0;
  }
  /** Nothing is worth to be kept of it. */
  get idle(): boolean {
    return !this.keepsOut && this.present.failures === 0;
  }
  get busy(): boolean {
    return this.releasesLater;
  }

  /** Whether the delivery may not pass now, wherever it waits. */
  holds(delivery: Delivery): boolean {
    return this.present.hold !== null && !delivery.probe;
  }

  wait(delivery: Delivery): void {
    this.list.add(delivery);
    this.tryProbe();
  }

  /** A delivery comes back that had passed before it was held; whoever had it has let it go at the end of the turn. */
  takeBack(delivery: Delivery): void {
    this.list.add(delivery);
    this.surroundings.endOfTurn(() => {
      if (this.present.hold) this.tryProbe();
      else this.letGo();
    });
  }

  /** A delivery to it is done. */
  done(delivery: Delivery, result: DeliveryResult): void {
    const probe = delivery === this.probe;
    if (probe) this.probe = null;
    const { now, settings } = this.surroundings;
    this.become(standingAfter(this.present, { origin: this.origin, result, probe, at: now() }, settings()));
  }

  /** A delivery that waited, here or at its key, is gone. */
  withdrawn(delivery: Delivery): void {
    if (delivery !== this.probe) return;
    this.probe = null;
    this.become({ ...this.present, probeAt: this.surroundings.now() });
  }

  holdByHand(hold: DestinationHold): void {
    this.dropProbe();
    this.present = { ...this.present, hold, probeAt: null };
    this.clearTimer();
  }

  /** Back to how it was before a hold that could not be written down. */
  restore(standing: Standing): void {
    this.present = standing;
    if (standing.hold) this.tryProbe();
    else this.letGo();
  }

  /** All that waits goes on, in order. */
  lift(): void {
    this.dropProbe();
    this.present = GOOD_STANDING;
    this.clearTimer();
    this.letGo();
  }

  /** The breaker has other settings. */
  settingsChanged(): void {
    const { hold, probeAt } = this.present;
    if (hold?.by !== 'breaker' || probeAt === null) return;
    const { enabled, probeEveryMs } = this.surroundings.settings();
    if (enabled) this.become({ ...this.present, probeAt: Math.min(probeAt, this.surroundings.now() + probeEveryMs) });
    else {
      this.lift();
      this.surroundings.holdChanged();
    }
  }

  get status(): DestinationStatus {
    const { hold, failures, lastError } = this.present;
    return { origin: this.origin, hold, failures, lastError, waiting: this.list.size, probeAt: this.plannedProbeAt };
  }

  /** Why a delivery to it does not pass; null when it is not held. */
  get reason(): WaitReason | null {
    const { hold } = this.present;
    return hold && { kind: 'destination-held', hold, probeAt: this.plannedProbeAt };
  }

  stop(): void {
    this.stopped = true;
    this.clearTimer();
  }

  private get plannedProbeAt(): number | null {
    return this.list.size > 0 && !this.probe ? this.present.probeAt : null;
  }

  private become(next: Standing): void {
    const before = this.present;
    this.present = next;
    if (next.hold !== before.hold) this.surroundings.holdChanged();
    if (next.hold) this.tryProbe();
    else if (before.hold) this.lift();
  }

  /** Lets the one through that waits longest and has nothing else before it, when it is time for that. */
  private tryProbe(): void {
    const { hold, probeAt } = this.present;
    if (this.stopped || this.probe || hold?.by !== 'breaker' || probeAt === null || this.list.size === 0) return;
    const { surroundings } = this;
    const now = surroundings.now();
    if (now < probeAt) {
      this.setTimer(probeAt);
      return;
    }
    // When nothing can start, or what was chosen cannot after all, it is tried again an interval later.
    const again = now + surroundings.settings().probeEveryMs;
    this.present = { ...this.present, probeAt: again };
    this.setTimer(again);
    const probe = this.chooseProbe();
    if (!probe) return;
    this.list.remove(probe);
    probe.probe = true;
    this.probe = probe;
    surroundings.goOn(probe);
  }

  private chooseProbe(): Delivery | null {
    const full = new Set<string>();
    for (const delivery of this.list.inOrder()) {
      const { flowControlKey } = delivery.passage;
      if (flowControlKey === null) return delivery;
      if (full.has(flowControlKey)) continue;
      if (this.surroundings.couldStart(delivery)) return delivery;
      full.add(flowControlKey);
    }
    return null;
  }

  /** A probe that still waits at its key is one no more; it comes back when its turn comes there. */
  private dropProbe(): void {
    if (this.probe) this.probe.probe = false;
    this.probe = null;
  }

  private letGo(): void {
    if (this.releasesLater) return;
    for (let count = 0; count < AT_ONCE; count++) {
      const { first } = this.list;
      if (!first || this.present.hold || this.stopped) return;
      this.list.remove(first);
      this.surroundings.goOn(first);
    }
    if (this.list.size === 0) return;
    this.releasesLater = true;
    this.surroundings.endOfTurn(() => {
      this.releasesLater = false;
      this.letGo();
    });
  }

  private setTimer(at: number): void {
    this.clearTimer();
    this.cancelTimer = this.surroundings.setTimer(at, () => {
      this.cancelTimer = null;
      const { probe } = this;
      if (probe?.list) {
        probe.list.remove(probe);
        this.dropProbe();
        this.list.add(probe);
      }
      this.tryProbe();
    });
  }

  private clearTimer(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }
}
