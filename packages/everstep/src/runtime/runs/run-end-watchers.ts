/** Clients that wait for the end of a run. They do not poll: the decision that ends a run wakes them. Keeps invariant 10. */
import type { Clock } from '../../ports/clock.js';

export class RunEndWatchers {
  private readonly clock: Clock;
  /** Called for every run that ends in this process, even if no client waits for it. */
  onEnd: () => void = () => {};
  private readonly watchers = new Map<string, Set<(ended: boolean) => void>>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Waits for the end of a run. `ended` resolves with true if the run ends, or with false after the timeout, on abort, or on
   * `cancel`.
   */
  watch(
    runKey: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): { readonly ended: Promise<boolean>; readonly cancel: () => void } {
    let cancel = (): void => {};
    const ended = new Promise<boolean>((resolve) => {
      const settle = (hasEnded: boolean) => {
        cancelTimer();
        signal?.removeEventListener('abort', cancel);
        const runWatchers = this.watchers.get(runKey);
        runWatchers?.delete(settle);
        if (runWatchers?.size === 0) this.watchers.delete(runKey);
        resolve(hasEnded);
      };
      cancel = () => settle(false);
      const cancelTimer = this.clock.setTimer(this.clock.now() + timeoutMs, cancel);
      signal?.addEventListener('abort', cancel);
      const runWatchers = this.watchers.get(runKey);
      if (runWatchers) runWatchers.add(settle);
      else this.watchers.set(runKey, new Set([settle]));
    });
    if (signal?.aborted) cancel();
    return { ended, cancel };
  }

  /** Keys of the runs that clients wait for. */
  get watchedRunKeys(): readonly string[] {
    return [...this.watchers.keys()];
  }

  /** Called when a run has ended. */
  onRunEnded(runKey: string): void {
    this.onEnd();
    const runWatchers = this.watchers.get(runKey);
    if (runWatchers) for (const settle of [...runWatchers]) settle(true);
  }

  /** Ends all waits, because the process stops. */
  releaseAll(): void {
    for (const runWatchers of [...this.watchers.values()]) for (const settle of [...runWatchers]) settle(false);
  }
}
