/** Time that advances only when nothing is left to do. Sleeping a day takes no time, and the same seed produces the same run. */
import type { Clock } from '../../ports/clock.js';

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly fire: () => void;
}

export class SimulatedClock implements Clock {
  private time: number;
  private order = 0;
  private timers: Timer[] = [];
  private turnCallbacks: (() => void)[] = [];

  constructor(startMs: number) {
    this.time = startMs;
  }

  now(): number {
    return this.time;
  }

  setTimer(atMs: number, fire: () => void): () => void {
    const timer = { atMs, order: this.order++, fire };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  endOfTurn(fire: () => void): void {
    this.turnCallbacks.push(fire);
  }

  /** Resolves after `delayMs` of simulated time. */
  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.setTimer(this.time + delayMs, resolve));
  }

  /** Runs the callbacks of this turn. Returns false if there were none. */
  runTurn(): boolean {
    if (this.turnCallbacks.length === 0) return false;
    const callbacks = this.turnCallbacks;
    this.turnCallbacks = [];
    for (const callback of callbacks) callback();
    return true;
  }

  /** Advances to the next timer and fires it. Returns false if there is none. */
  advance(): boolean {
    let next: Timer | undefined;
    for (const timer of this.timers) {
      if (!next || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.order < next.order)) next = timer;
    }
    if (!next) return false;
    const nextTimer = next;
    this.timers = this.timers.filter((timer) => timer !== nextTimer);
    this.time = Math.max(this.time, nextTimer.atMs);
    nextTimer.fire();
    return true;
  }
}

/** Returns a clock for one process: once `isDead` returns true, its timers do not fire and its callbacks do not run. */
export function clockUntil(isDead: () => boolean, clock: Clock): Clock {
  const unlessDead = (fire: () => void) => (): void => {
    if (!isDead()) fire();
  };
  return {
    now: () => clock.now(),
    setTimer: (atMs, fire) => clock.setTimer(atMs, unlessDead(fire)),
    endOfTurn: (fire) => clock.endOfTurn(unlessDead(fire)),
  };
}
