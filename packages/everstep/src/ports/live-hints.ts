/** Hints of what has changed in an instance, for those who look on. */
export const LIVE_TOPICS = ['runs', 'dlq', 'repairs', 'flow-control', 'schedules', 'queues', 'settings'] as const;
export type LiveTopic = (typeof LIVE_TOPICS)[number];

export interface LiveHint {
  readonly topics: readonly LiveTopic[];
  /** Ids of runs, as users know them; not all of them where there are many. */
  readonly runIds: readonly string[];
}
