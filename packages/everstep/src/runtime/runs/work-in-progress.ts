/** The deliveries and decisions that this process is working on. `RunDriver.stop` waits for them. */
import type { Log } from '../../ports/log.js';
import type { StoreWritesState } from '../../ports/stores/store-writes.js';
import type { DueTasks } from '../due/due-tasks.js';

export interface WorkDeps {
  readonly log: Log;
  readonly writes: StoreWritesState;
}

/** Returns the text of an unexpected error, with its stack. */
export const detailsOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

export class WorkInProgress {
  private readonly deps: WorkDeps;
  private readonly due: Pick<DueTasks, 'restart'>;
  private readonly pendingWork = new Set<Promise<void>>();

  constructor(deps: WorkDeps, due: Pick<DueTasks, 'restart'>) {
    this.deps = deps;
    this.due = due;
  }

  get size(): number {
    return this.pendingWork.size;
  }

  /** Returns a promise that resolves when the work ends. After an error, due tasks are read again. */
  track(work: Promise<unknown>): Promise<void> {
    const settled: Promise<void> = work.then(
      () => {},
      (error: unknown) => {
        if (!this.deps.writes.reportFailure(error))
          this.deps.log.error({ error: detailsOf(error) }, 'task processing failed, retrying in 1 s');
        this.due.restart();
      },
    );
    this.pendingWork.add(settled);
    void settled.then(() => this.pendingWork.delete(settled));
    return settled;
  }

  /** Resolves when any of the work ends. */
  async next(): Promise<void> {
    await Promise.race(this.pendingWork);
  }

  /** Resolves when all current work has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.pendingWork]);
  }
}
