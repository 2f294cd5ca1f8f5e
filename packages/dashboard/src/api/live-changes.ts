/** Determines which queries a live hint affects. It uses no browser API, so it is tested without a browser. */
import type { LiveTopic } from '../../../everstep/src/contract/live.js';

/** Topics of hints. They repeat those in the contract because the dashboard imports only types from it. */
export const TOPICS = [
  'runs',
  'dlq',
  'repairs',
  'flow-control',
  'schedules',
  'queues',
  'settings',
] as const satisfies readonly LiveTopic[];
export type Topic = LiveTopic;

/** The changes that one or several hints report. */
export interface Change {
  readonly topics: ReadonlySet<Topic>;
  readonly runIds: ReadonlySet<string>;
  /** Whether other runs than `runIds` may have changed too. */
  readonly moreRuns: boolean;
}

/** How live hints affect a query about certain runs. */
export interface LiveQuery {
  readonly runIds: readonly string[];
  /** Returns the ids of other runs that the data shows. */
  readonly relatedIn?: (data: unknown) => readonly string[];
  /** Returns whether the data no longer changes. A final query is fetched again only if a hint names one of the runs. */
  readonly isFinal: (data: unknown) => boolean;
}

declare module '@tanstack/react-query' {
  interface Register {
    /** `live` is absent if every hint of the topic affects the query. */
    queryMeta: { readonly live?: LiveQuery };
  }
}

/** Used when it is unknown what changed, for example after a reconnect. */
export const ALL_CHANGED: Change = { topics: new Set(TOPICS), runIds: new Set(), moreRuns: true };

const isTopic = (topic: unknown): topic is Topic => TOPICS.some((candidate) => candidate === topic);

/** Returns what a `change` event reports, or that everything may have changed if it cannot be parsed. */
export function changeOf(data: string): Change {
  try {
    const hint: unknown = JSON.parse(data);
    if (typeof hint !== 'object' || hint === null || !('topics' in hint) || !Array.isArray(hint.topics)) return ALL_CHANGED;
    const runIds = 'runIds' in hint && Array.isArray(hint.runIds) ? hint.runIds : null;
    return {
      topics: new Set(hint.topics.filter(isTopic)),
      runIds: new Set(runIds?.filter((id): id is string => typeof id === 'string')),
      moreRuns: runIds === null || ('moreRuns' in hint && hint.moreRuns === true),
    };
  } catch {
    return ALL_CHANGED;
  }
}

export const mergeChanges = (first: Change, second: Change): Change => ({
  topics: new Set([...first.topics, ...second.topics]),
  runIds: new Set([...first.runIds, ...second.runIds]),
  moreRuns: first.moreRuns || second.moreRuns,
});

/**
 * Returns whether a query with this topic must be fetched again. `data` is its last result; undefined before its first
 * response.
 */
export function isAffected(change: Change, topic: unknown, query: LiveQuery | undefined, data: unknown): boolean {
  if (!isTopic(topic) || !change.topics.has(topic)) return false;
  if (query === undefined) return true;
  const runIds = [...query.runIds, ...(query.relatedIn?.(data) ?? [])];
  if (runIds.some((runId) => change.runIds.has(runId))) return true;
  return change.moreRuns && !(data !== undefined && query.isFinal(data));
}
