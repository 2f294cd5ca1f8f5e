/** Topics of hints about changes in an instance, which are sent to clients with an open live stream. */
export const LIVE_TOPICS = ['runs', 'dlq', 'repairs', 'flow-control', 'schedules', 'queues', 'settings'] as const;
export type LiveTopic = (typeof LIVE_TOPICS)[number];

/** A hint about what changed in an instance. It contains no data. */
export interface LiveHint {
  readonly topics: readonly LiveTopic[];
  /** Ids of the changed runs, as users see them. The list can be incomplete if many runs have changed. */
  readonly runIds: readonly string[];
  /** Set if runs that are not in `runIds` may also have changed. */
  readonly moreRuns?: true;
}
