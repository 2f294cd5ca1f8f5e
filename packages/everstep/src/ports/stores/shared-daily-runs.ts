/**
 * A number of runs on one day, which plans limit. If several processes share the store, they reserve runs here before they start
 * them. All processes together therefore admit no more than the plan allows.
 */
export interface RunsOfDay {
  readonly instanceId: string;
  /** Number of days since 1970 (UTC). */
  readonly day: number;
  readonly runs: number;
}

/** Counts the runs of a day across all processes. */
export interface SharedDailyRuns {
  /**
   * Reserves this number of runs of the day, unless more than `max` would then be reserved. Runs that the store has counted as
   * started count as reserved. `taken` states whether the runs were reserved; `used` is the number of reserved runs of the day
   * after this call.
   */
  reserve(query: RunsOfDay & { readonly max: number }): Promise<{ readonly isReserved: boolean; readonly used: number }>;
  /** Releases this number of reserved runs, because they were not started. */
  release(query: RunsOfDay): Promise<void>;
  /** Returns the number of reserved runs. */
  used(query: Omit<RunsOfDay, 'runs'>): Promise<number>;
}
