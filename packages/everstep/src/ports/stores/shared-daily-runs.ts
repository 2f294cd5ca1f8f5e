/**
 * Runs of one day, which plans limit. If several processes share the store, runs are taken here before they are started. All
 * processes together therefore admit no more than the plan allows.
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
   * Takes this number of runs of the day, unless more than `max` would then be taken. Runs that the store has
   * counted as started count as taken. `used` is the number of taken runs of the day after this call.
   */
  take(query: RunsOfDay & { readonly max: number }): Promise<{ readonly taken: boolean; readonly used: number }>;
  /** Releases this number of taken runs, because they were not started. */
  release(query: RunsOfDay): Promise<void>;
  /** Returns the number of taken runs. */
  used(query: Omit<RunsOfDay, 'runs'>): Promise<number>;
}
