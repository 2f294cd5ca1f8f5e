/** Hooks for API calls: `useApi` reads and keeps the result up to date, `useChange` changes something. */
import { keepPreviousData, type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { toastFailure, toastSuccess } from '../components/toasts.js';
import { type Query, type RequestOptions, request } from './client.js';
import { useInstanceId } from './instances.js';
import type { LiveQuery, Topic } from './live-changes.js';
import { type ApiFailure, type Outcome, valueIn } from './outcome.js';
import { recordOwnChange } from './own-changes.js';

export interface ApiSource {
  /** Topic of the live hints that refresh this query; `account` for the management API, which sends no hints. */
  readonly topic: Topic | 'account';
  /** Distinguishes this query from others of the same topic; usually the operation. */
  readonly name: string;
  /** Built with path`...`. */
  readonly url: string;
  readonly query?: Query | undefined;
  readonly enabled?: boolean;
  /** Run that the resource is about, so that hints about other runs do not refetch it. Without it, every hint of the topic does. */
  readonly live?: LiveQuery;
  /** Polling interval for data that has no live hints, ms. */
  readonly refreshMs?: number;
  /** Age below which a result is not fetched again when the page is shown or focused, ms. Default: a few seconds. */
  readonly staleMs?: number;
  /** Shows the previous result while the result for other parameters loads. */
  readonly keepPrevious?: boolean;
}

/** Fetches an API resource and keeps it up to date. `Body` is the response type in the operation's contract. */
export function useApi<Body>(source: ApiSource): UseQueryResult<Body, ApiFailure> {
  const { topic, name, url, query, enabled = true, live, refreshMs, staleMs, keepPrevious = false } = source;
  const instanceId = useInstanceId();
  return useQuery<Body, ApiFailure>({
    queryKey: [instanceId, topic, name, url, query ?? null],
    queryFn: async ({ signal }) =>
      valueIn(await request<Body>(url, { query, signal, ...(topic === 'account' ? {} : { instanceId }) })),
    enabled,
    ...(live === undefined ? {} : { meta: { live } }),
    ...(refreshMs === undefined ? {} : { refetchInterval: refreshMs }),
    ...(staleMs === undefined ? {} : { staleTime: staleMs }),
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
}

export interface Change extends RequestOptions {
  readonly url: string;
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Topics to refetch afterwards. */
  readonly topics: readonly (Topic | 'account')[];
  /** Message shown on success; without it, none is shown. */
  readonly successText?: string;
  /** Whether to show a failure as a message; false if the caller shows it, such as `ConfirmDialog`. */
  readonly showFailure?: boolean;
  /** Whether the call belongs to the management API, which needs no instance. */
  readonly isManagementCall?: boolean;
}

/** Returns a function that makes a call that changes something. It returns failures as values and does not throw. */
export function useChange(): <Body>(change: Change) => Promise<Outcome<Body>> {
  const instanceId = useInstanceId();
  const client = useQueryClient();
  return useCallback(
    async <Body>({
      url,
      topics,
      successText,
      showFailure = false,
      isManagementCall = false,
      ...options
    }: Change): Promise<Outcome<Body>> => {
      const outcome = await request<Body>(url, { ...options, ...(isManagementCall ? {} : { instanceId }) });
      recordOwnChange(instanceId, topics);
      for (const topic of topics) void client.invalidateQueries({ queryKey: [instanceId, topic] });
      if (topics.includes('account')) void client.invalidateQueries({ queryKey: ['instances'] });
      if (outcome.ok && successText !== undefined) toastSuccess(successText);
      if (!outcome.ok && showFailure) toastFailure(outcome.failure);
      return outcome;
    },
    [client, instanceId],
  );
}
