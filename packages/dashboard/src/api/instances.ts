/** The queue instances that the user may see, and which one the pages are about: it stands in the URL. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { QueueRecord } from '../../../everstep/src/contract/management.js';
import { request } from './client.js';
import { valueIn } from './outcome.js';

export const instancesQuery = queryOptions({
  queryKey: ['instances'],
  queryFn: async ({ signal }) =>
    valueIn(await request<QueueRecord[]>('/v2/queue/users', { signal })).filter(({ state }) => state === undefined),
  staleTime: 60_000,
});

/** Id of the queue instance of the present page. */
export function useQueueId(): string {
  const { queueId } = useParams({ strict: false });
  if (queueId === undefined) throw new Error('this page belongs to no queue instance');
  return queueId;
}

/** The present queue instance; null while the list is fetched, or when the user may not see it. */
export function useInstance(): QueueRecord | null {
  const queueId = useQueueId();
  const { data } = useQuery(instancesQuery);
  return data?.find(({ id }) => id === queueId) ?? null;
}

export interface May {
  /** Covers cancel, resume and everything that changes runs. */
  readonly write: boolean;
  readonly administer: boolean;
  /** Why what changes something is off; undefined where it is on. */
  readonly readOnly: string | undefined;
}

/** What the user may do in the instance. */
export function useMay(): May {
  const role = useInstance()?.role;
  const write = role !== undefined && role !== 'finance';
  const why = role === undefined ? 'Your role here is not known yet' : `Your role here (${role}) may look, but change nothing`;
  return { write, administer: role === 'owner' || role === 'admin', readOnly: write ? undefined : why };
}
