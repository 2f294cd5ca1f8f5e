/**
 * Live executions kept between requests, so that a step need not replay the
 * journal. The least recently used go first when there are too many, and each
 * goes when nobody asked for it for a while.
 */
import type { Execution } from './execution.js';

export interface HeldRunsOptions {
  /** How many runs are kept at most. */
  readonly max: number;
  readonly idleMs: number;
  /** Unix ms. */
  readonly now?: () => number;
}

interface Held {
  readonly execution: Execution;
  lastUsedAt: number;
}

/** A longer time would wrap round to none. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class HeldRuns {
  private readonly options: HeldRunsOptions;
  private readonly now: () => number;
  /** In order of use, the longest unused first. */
  private readonly held = new Map<string, Held>();
  private sweepTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(options: HeldRunsOptions) {
    this.options = options;
    this.now = options.now ?? Date.now;
  }

  get size(): number {
    return this.held.size;
  }

  get(runKey: string): Execution | null {
    this.evict();
    const held = this.held.get(runKey);
    if (!held) return null;
    this.touch(runKey, held);
    return held.execution;
  }

  has(runKey: string, execution: Execution): boolean {
    return this.held.get(runKey)?.execution === execution;
  }

  /** Keeps the execution in place of any other of the run. */
  put(runKey: string, execution: Execution): void {
    this.held.get(runKey)?.execution.drop();
    this.touch(runKey, { execution, lastUsedAt: 0 });
    this.evict();
    this.sweepLater();
  }

  /** Lets the run go, if it is this execution that is kept for it. */
  release(runKey: string, execution: Execution): void {
    if (this.has(runKey, execution)) this.held.delete(runKey);
  }

  private touch(runKey: string, held: Held): void {
    held.lastUsedAt = this.now();
    this.held.delete(runKey);
    this.held.set(runKey, held);
  }

  private evict(): void {
    const idleSince = this.now() - this.options.idleMs;
    for (const [runKey, held] of this.held) {
      const over = this.held.size > this.options.max;
      if (!over && held.lastUsedAt >= idleSince) return;
      // A step that takes long is not idleness.
      if (!over && held.execution.exchanges.size > 0) this.touch(runKey, held);
      else this.held.delete(runKey);
    }
  }

  /** Lets idle runs go when no request comes any more; only where a timer can be left out of what keeps the process alive. */
  private sweepLater(): void {
    if (this.sweepTimer !== null) return;
    const timer = setTimeout(
      () => {
        this.sweepTimer = null;
        this.evict();
        if (this.held.size > 0) this.sweepLater();
      },
      Math.min(this.options.idleMs, LONGEST_TIMER_MS),
    );
    if (typeof timer === 'object' && typeof timer.unref === 'function') {
      timer.unref();
      this.sweepTimer = timer;
    } else clearTimeout(timer);
  }
}
