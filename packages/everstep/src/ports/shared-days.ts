/**
 * Runs of a day that plans bound, where several processes share the store:
 * taken there before they are started, so that all of them together let in
 * no more than the plan says.
 */
export interface RunsOfDay {
  readonly instanceId: string;
  /** Days since 1970 (UTC). */
  readonly day: number;
  readonly runs: number;
}

export interface SharedDays {
  /**
   * Takes so many runs of the day unless more than `most` would be taken then. What the store has counted as started counts
   * as taken. `used`: how many of the day are taken, after this.
   */
  take(query: RunsOfDay & { readonly most: number }): Promise<{ readonly taken: boolean; readonly used: number }>;
  /** So many of those that were taken came to nothing. */
  giveBack(query: RunsOfDay): Promise<void>;
  /** How many are taken. */
  used(query: Omit<RunsOfDay, 'runs'>): Promise<number>;
}
