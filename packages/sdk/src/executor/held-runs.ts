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

interface HeldRun {
  readonly execution: Execution;
  lastUsedAt: number;
}

/** Maximum delay of a timer in milliseconds. A timer with a longer delay would fire immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The live executions that an endpoint keeps between requests, by run key. */
export class HeldRuns {
  private readonly options: HeldRunsOptions;
  private readonly now: () => number;
  /** Held runs in order of use, the least recently used first. */
  private readonly runs = new Map<string, HeldRun>();
  private sweepTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(options: HeldRunsOptions) {
    this.options = options;
    this.now = options.now ?? Date.now;
  }

  get size(): number {
    return this.runs.size;
  }

  /** Returns the execution of a run and marks it as used. */
  get(runKey: string): Execution | null {
    this.evict();
    const run = this.runs.get(runKey);
    if (!run) return null;
    this.touch(runKey, run);
    return run.execution;
  }

  /** Returns whether this execution is the one kept for the run. */
  has(runKey: string, execution: Execution): boolean {
    return this.runs.get(runKey)?.execution === execution;
  }

  /** Keeps the execution and drops any other execution of the run. */
  put(runKey: string, execution: Execution): void {
    this.runs.get(runKey)?.execution.drop();
    this.touch(runKey, { execution, lastUsedAt: 0 });
    this.evict();
    this.sweepLater();
  }

  /** Releases the run if this execution is the one kept for it. */
  release(runKey: string, execution: Execution): void {
    if (this.has(runKey, execution)) this.runs.delete(runKey);
  }

  private touch(runKey: string, run: HeldRun): void {
    run.lastUsedAt = this.now();
    this.runs.delete(runKey);
    this.runs.set(runKey, run);
  }

  private evict(): void {
    const idleSince = this.now() - this.options.idleMs;
    for (const [runKey, run] of this.runs) {
      const isOverLimit = this.runs.size > this.options.max;
      if (!isOverLimit && run.lastUsedAt >= idleSince) return;
      // A run with a long step is not idle.
      if (!isOverLimit && run.execution.openMessageIds.size > 0) this.touch(runKey, run);
      else this.runs.delete(runKey);
    }
  }

  /**
   * Removes idle runs even if no more requests arrive. Does nothing on platforms where the timer would keep the
   * process alive.
   */
  private sweepLater(): void {
    if (this.sweepTimer !== null) return;
    const timer = setTimeout(
      () => {
        this.sweepTimer = null;
        this.evict();
        if (this.runs.size > 0) this.sweepLater();
      },
      Math.min(this.options.idleMs, MAX_TIMER_MS),
    );
    if (typeof timer === 'object' && typeof timer.unref === 'function') {
      timer.unref();
      this.sweepTimer = timer;
    } else clearTimeout(timer);
  }
}
