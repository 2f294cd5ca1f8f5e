/**
 * A listing with cursors: pages are fetched as the reader comes to them, the first one again whenever something changed.
 * What is new is held back and counted; nothing jumps.
 */
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type Query, request } from './client.js';
import { useQueueId } from './instances.js';
import type { Topic } from './live.js';
import { type ApiFailure, valueIn } from './outcome.js';
import { steady } from './steady.js';

export interface CursorPage<Row> {
  readonly rows: readonly Row[];
  /** null at the end. */
  readonly cursor: string | null;
  /** Of a search that looks at a bounded number of rows each time: until when it has looked, Unix ms. Its pages may be empty. */
  readonly lookedBackTo?: number | null;
}

export interface ListSource<Answer, Row> {
  /** What its changes are told as. */
  readonly topic: Topic;
  /** Tells this list from others of the topic. */
  readonly name: string;
  /** Of the operation, without parameters. */
  readonly url: string;
  readonly query?: Query | undefined;
  /** How many rows of a page are asked for. */
  readonly count?: number;
  /** Declared outside of the component: it has to stay the same. */
  readonly read: (answer: Answer) => CursorPage<Row>;
  readonly idOf: (row: Row) => string;
  readonly enabled?: boolean;
}

export interface CursorList<Row> {
  readonly rows: readonly Row[];
  /** How many came since; `showNew` brings them in. */
  readonly newCount: number;
  readonly showNew: () => void;
  /** Ids of rows that are still shown but have left the list; known only where the list is a single page. */
  readonly gone: ReadonlySet<string>;
  /** Rows after the first so many are as they were at `since` (Unix ms), and something has changed; null where all are as they are. */
  readonly behind: { readonly after: number; readonly since: number } | null;
  /** Asks for everything that is loaded once more. */
  readonly bringUpToDate: () => void;
  readonly isBringingUpToDate: boolean;
  /** Nothing is known yet. */
  readonly isPending: boolean;
  /** Why there are no rows to show. */
  readonly failure: ApiFailure | null;
  readonly retry: () => void;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  readonly loadMore: () => void;
  /** Why more could not be had; it is not asked for again by itself. */
  readonly moreFailure: ApiFailure | null;
  /** Of a search: until when it has looked, Unix ms. */
  readonly lookedBackTo: number | null;
}

interface LoadedPage<Row> extends CursorPage<Row> {
  /** When it was asked for, Unix ms. */
  readonly readAt: number;
}

const NO_ROWS: readonly never[] = [];
const NONE_GONE: ReadonlySet<string> = new Set();

export function useCursorList<Answer, Row>(source: ListSource<Answer, Row>): CursorList<Row> {
  const { topic, name, url, query, count = 50, read, idOf, enabled = true } = source;
  const queueId = useQueueId();
  const client = useQueryClient();
  const page = async (cursor: string | null, signal: AbortSignal): Promise<LoadedPage<Row>> => {
    const readAt = Date.now();
    return { ...read(valueIn(await request<Answer>(url, { queueId, query: { ...query, count, cursor }, signal }))), readAt };
  };

  // Not below [queueId, topic]: what the reader has seen stays as it is.
  const pagesKey = [queueId, 'pages', topic, name, query ?? null];
  const pages = useInfiniteQuery<LoadedPage<Row>, ApiFailure, { pages: LoadedPage<Row>[] }, typeof pagesKey, string | null>({
    queryKey: pagesKey,
    initialPageParam: null,
    queryFn: ({ pageParam, signal }) => page(pageParam, signal),
    getNextPageParam: (last) => last.cursor,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    refetchOnMount: 'always',
    enabled,
  });
  const first = useQuery<LoadedPage<Row>, ApiFailure>({
    queryKey: [queueId, topic, name, 'first', query ?? null],
    queryFn: ({ signal }) => page(null, signal),
    enabled: enabled && pages.data !== undefined,
    // The pages have just been fetched: only a change makes this one ask.
    initialData: () => pages.data?.pages[0],
    staleTime: Number.POSITIVE_INFINITY,
  });

  const loaded = useMemo(() => pages.data?.pages.flatMap(({ rows }) => rows) ?? NO_ROWS, [pages.data]);
  const fresh = first.data;
  // Where nothing is shown, nothing can jump.
  const shown = loaded.length === 0 && fresh !== undefined ? fresh.rows : loaded;
  const single = pages.data?.pages.length === 1 && pages.data.pages[0]?.cursor === null && fresh?.cursor === null;
  const { rows, newCount, gone } = useMemo(
    () => (fresh === undefined ? { rows: shown, newCount: 0, gone: NONE_GONE } : steady(shown, fresh.rows, idOf, single)),
    [shown, fresh, idOf, single],
  );
  // Hints do not say what has changed: of the pages behind the first it is known only that something may have.
  const oldest = Math.min(...(pages.data?.pages.slice(1).map(({ readAt }) => readAt) ?? []));
  const behind =
    fresh !== undefined && fresh.readAt > oldest ? { since: oldest, after: pages.data?.pages[0]?.rows.length ?? 0 } : null;
  const showNew = () => {
    if (fresh !== undefined) client.setQueryData(pagesKey, { pages: [fresh], pageParams: [null] });
  };
  return {
    rows,
    newCount,
    gone,
    showNew,
    isPending: enabled && pages.isPending,
    failure: rows.length === 0 ? pages.error : null,
    retry: () => void pages.refetch(),
    behind,
    bringUpToDate: () => void pages.refetch(),
    isBringingUpToDate: pages.isRefetching && !pages.isFetchingNextPage,
    hasMore: pages.hasNextPage,
    isLoadingMore: pages.isFetchingNextPage,
    moreFailure: pages.isFetchNextPageError ? pages.error : null,
    lookedBackTo: pages.data?.pages.at(-1)?.lookedBackTo ?? null,
    loadMore: () => {
      if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage();
    },
  };
}
