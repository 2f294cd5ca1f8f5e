/** The connected workers of the instance. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { WorkerPage } from '../../../everstep/src/contract/workers/workers.js';
import type { ApiFailure } from './outcome.js';
import { useApi } from './queries.js';

/** Polling interval: connections and their load have no live hints. */
const REFRESH_MS = 2_000;
/** Maximum number of connections that are shown. */
export const MAX_SHOWN_WORKERS = 200;

export const isWorkerUrl = (url: string): boolean => url.startsWith('worker://');

/** Reads the first connections, and the workflows that deliveries wait for because no connected worker serves them. */
export const useWorkers = (enabled = true): UseQueryResult<WorkerPage, ApiFailure> =>
  useApi<WorkerPage>({
    topic: 'settings',
    name: 'workers',
    url: '/v2/workers',
    query: { count: MAX_SHOWN_WORKERS },
    refreshMs: REFRESH_MS,
    enabled,
  });
