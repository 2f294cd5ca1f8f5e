/** The queue instances that the user can access, and the current one, whose id is in the URL. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { InstanceRecord } from '../../../everstep/src/contract/management.js';
import { request } from './client.js';
import { valueIn } from './outcome.js';

/** Omits instances that are being deleted: only these have a `state`. */
export const instancesQuery = queryOptions({
  queryKey: ['instances'],
  queryFn: async ({ signal }) =>
    valueIn(await request<InstanceRecord[]>('/v2/queue/users', { signal })).filter(({ state }) => state === undefined),
  staleTime: 60_000,
});

/** Returns the id of the queue instance of the current page. */
export function useInstanceId(): string {
  const { instanceId } = useParams({ strict: false });
  if (instanceId === undefined) throw new Error('the URL of this page has no queue instance id');
  return instanceId;
}

/** Returns the current queue instance, or null while the list is loading or if the user has no access to it. */
export function useInstance(): InstanceRecord | null {
  const instanceId = useInstanceId();
  const { data } = useQuery(instancesQuery);
  return data?.find(({ id }) => id === instanceId) ?? null;
}

export interface Permissions {
  /** Allows cancel, resume and everything else that changes runs. */
  readonly canWrite: boolean;
  /** Allows moving and deleting the instance. */
  readonly canAdminister: boolean;
  /** Why actions are disabled; undefined if they are enabled. */
  readonly readOnlyReason: string | undefined;
}

/** Returns what the user is allowed to do in the instance. */
export function usePermissions(): Permissions {
  const role = useInstance()?.role;
  const canWrite = role !== undefined && role !== 'finance';
  const reason = role === undefined ? 'Your role is still loading' : `Your role (${role}) has read-only access`;
  return { canWrite, canAdminister: role === 'owner' || role === 'admin', readOnlyReason: canWrite ? undefined : reason };
}
