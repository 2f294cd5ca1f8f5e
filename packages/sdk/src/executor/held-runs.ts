/**
 * Live executions that are kept between requests, so that a step does not need to replay the journal. If there are too many, the
 * least recently used execution is removed first. An execution that has been idle for a while is removed too.
 */
import type { Execution } from './execution.js';

/** Limits of the held runs. */
export interface HeldRunsOptions {
  /** Maximum number of runs to keep. */
  readonly max: number;
  /** Time after which an unused run is removed, in milliseconds. */
  readonly idleMs: number;
  /** Returns the current time in Unix ms. Default: Date.now. */
  readonly now?: () => number;
}

interface Held {
  readonly execution: Execution;
  lastUsedAt: number;
}

/** Longest delay of a timer in milliseconds. A longer one would fire immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The live executions that an endpoint keeps between requests, by run key. */
export class HeldRuns {
  private readonly options: HeldRunsOptions;
  private readonly now: () => number;
  /** Held runs in order of use, the least recently used first. */
  private readonly held = new Map<string, Held>();
  private sweepTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(options: HeldRunsOptions) {
    this.options = options;
    this.now = options.now ?? Date.now;
  }

  get size(): number {
    return this.held.size;
  }

  /** Returns the execution of a run and marks it as used. */
  get(runKey: string): Execution | null {
    this.evict();
    const held = this.held.get(runKey);
    if (!held) return null;
    this.touch(runKey, held);
    return held.execution;
  }

  /** Returns whether this execution is the one kept for the run. */
  has(runKey: string, execution: Execution): boolean {
    return this.held.get(runKey)?.execution === execution;
  }

  /** Keeps the execution and drops any other execution of the run. */
  put(runKey: string, execution: Execution): void {
    this.held.get(runKey)?.execution.drop();
    this.touch(runKey, { execution, lastUsedAt: 0 });
    this.evict();
    this.sweepLater();
  }

  /** Releases the run if this execution is the one kept for it. */
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
      // A run with a long step is not idle.
      if (!over && held.execution.exchanges.size > 0) this.touch(runKey, held);
      else this.held.delete(runKey);
    }
  }

  /**
   * Removes idle runs even if no more requests arrive. Runs only where a timer can be excluded from keeping the
   * process alive.
   */
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
