/** Checks whether the deployed code can replay a run. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { RunChecks } from '../../../everstep/src/contract/run-tools.js';
import { path, request } from './client.js';
import { useInstanceId } from './instances.js';
import { type ApiFailure, valueIn } from './outcome.js';

/**
 * Checks a run once while the component is mounted and `enabled`, and again on `refetch`. A check runs code of the app, so neither
 * live hints nor the focus of the window repeat it, and a failure is not retried.
 */
export function useReplayCheck(runId: string, createdAt: number, enabled = true): UseQueryResult<RunChecks, ApiFailure> {
  const instanceId = useInstanceId();
  return useQuery<RunChecks, ApiFailure>({
    // Not under a topic of live hints.
    queryKey: [instanceId, 'replay-check', runId, createdAt],
    queryFn: async ({ signal }) =>
      valueIn(await request<RunChecks>(path`/v2/workflows/runs/${runId}/check`, { instanceId, query: { createdAt }, signal })),
    enabled,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}
