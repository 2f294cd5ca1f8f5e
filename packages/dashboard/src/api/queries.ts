/** One answer of the API, kept fresh while it is shown; and calls that change something. */
import { keepPreviousData, type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { toastDone, toastFailure } from '../components/toasts.js';
import { type Query, type RequestOptions, request } from './client.js';
import { useQueueId } from './instances.js';
import type { Topic } from './live.js';
import { type ApiFailure, type Outcome, valueIn } from './outcome.js';
import { noteOwnChange } from './own-changes.js';

export interface ApiSource {
  /** What its changes are told as; `account` for the management API, which tells of none. */
  readonly topic: Topic | 'account';
  /** Tells this answer from others of the topic: the operation, mostly. */
  readonly name: string;
  /** Made with path`...`. */
  readonly url: string;
  readonly query?: Query | undefined;
  readonly enabled?: boolean;
  /** Asked again at this interval, for what no hint tells of, ms. */
  readonly refreshMs?: number;
  /** Goes on showing the last answer while one with other parameters is fetched. */
  readonly keepPrevious?: boolean;
}

/** `Answer` is what the operation's contract says. */
export function useApi<Answer>(source: ApiSource): UseQueryResult<Answer, ApiFailure> {
  const { topic, name, url, query, enabled = true, refreshMs, keepPrevious = false } = source;
  const queueId = useQueueId();
  return useQuery<Answer, ApiFailure>({
    queryKey: [queueId, topic, name, url, query ?? null],
    queryFn: async ({ signal }) =>
      valueIn(await request<Answer>(url, { query, signal, ...(topic === 'account' ? {} : { queueId }) })),
    enabled,
    ...(refreshMs === undefined ? {} : { refetchInterval: refreshMs }),
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
}

export interface Change extends RequestOptions {
  readonly url: string;
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** What has to be asked for again afterwards. */
  readonly topics: readonly (Topic | 'account')[];
  /** Said when it was done; nothing is said without it. */
  readonly done?: string;
  /** Whether a failure is shown as a message; false where the caller shows it, such as `ConfirmDialog`. */
  readonly tellFailure?: boolean;
  /** Whether the call is one of the management API, which no instance belongs to. */
  readonly account?: boolean;
}

/** Makes a call that changes something. The outcome is a value: nothing is thrown. */
export function useChange(): <Answer>(change: Change) => Promise<Outcome<Answer>> {
  const queueId = useQueueId();
  const client = useQueryClient();
  return useCallback(
    async <Answer>({ url, topics, done, tellFailure = false, account = false, ...options }: Change): Promise<Outcome<Answer>> => {
      const outcome = await request<Answer>(url, { ...options, ...(account ? {} : { queueId }) });
      noteOwnChange(queueId, topics);
      for (const topic of topics) void client.invalidateQueries({ queryKey: [queueId, topic] });
      if (topics.includes('account')) void client.invalidateQueries({ queryKey: ['instances'] });
      if (outcome.ok && done !== undefined) toastDone(done);
      if (!outcome.ok && tellFailure) toastFailure(outcome.failure);
      return outcome;
    },
    [client, queueId],
  );
}
