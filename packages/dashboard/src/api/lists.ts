/**
 * A list that is loaded page by page with cursors. Pages load as the user scrolls; the first page is refreshed whenever something
 * changes. New rows are counted but not inserted until the user shows them, so that the list does not move.
 */
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import { type Query, request } from './client.js';
import { type FollowRule, followedRows, nextRowsToRequest } from './followed-rows.js';
import { useInstanceId } from './instances.js';
import type { Topic } from './live-changes.js';
import { type CursorPage, type LoadedPage, LoadedPages, type NewestRows, rowsIn } from './loaded-pages.js';
import { type ApiFailure, valueIn } from './outcome.js';
import { stableRows } from './stable-rows.js';

export type { CursorPage } from './loaded-pages.js';

export interface ListSource<Body, Row> {
  /** Topic of the live hints that refresh this list. */
  readonly topic: Topic;
  /** Distinguishes this list from others of the same topic. */
  readonly name: string;
  /** URL of the operation, without parameters. */
  readonly url: string;
  readonly query?: Query | undefined;
  /** Number of rows on the first page, which the user waits for and which is kept up to date. */
  readonly count?: number;
  /** Number of rows on each later page: as many as the operation allows, so that scrolling through the list rarely waits. */
  readonly moreCount?: number;
  /** Must be declared outside the component, so that its identity is stable. */
  readonly read: (response: Body) => CursorPage<Row>;
  readonly idOf: (row: Row) => string;
  /**
   * How rows after the first page are kept up to date. Without it, they are marked as outdated. Must be declared outside the
   * component.
   */
  readonly follow?: FollowRule<Row>;
  /** Returns the polling interval of the first page with these rows, ms; false if only live hints refresh it. */
  readonly refreshMsOf?: (rows: readonly Row[]) => number | false;
  readonly enabled?: boolean;
}

export interface CursorList<Row> {
  readonly rows: readonly Row[];
  /** Number of new rows that are not shown yet; `showNew` inserts them. */
  readonly newCount: number;
  /** Whether there may be more new rows than `newCount`. */
  readonly hasMoreNew: boolean;
  readonly showNew: () => void;
  /** Ids of rows that are still shown but are no longer in the list. Known only if the list is a single page. */
  readonly removedIds: ReadonlySet<string>;
  /**
   * Rows after the first `freshCount` were loaded at `loadedAt` (Unix ms) and may be out of date. Null if all rows are up to date.
   */
  readonly stale: { readonly freshCount: number; readonly loadedAt: number } | null;
  /** Fetches all loaded pages again. */
  readonly refreshAll: () => void;
  readonly isRefreshing: boolean;
  /** Whether the first page is still loading. */
  readonly isPending: boolean;
  /** Why there are no rows. */
  readonly failure: ApiFailure | null;
  readonly retry: () => void;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  readonly loadMore: () => void;
  /** Why the next page failed to load. It is not retried automatically. */
  readonly moreFailure: ApiFailure | null;
  /** How far back a search has searched, Unix ms. */
  readonly searchedBackTo: number | null;
}

const NO_ROWS: readonly never[] = [];
const NO_REMOVED_IDS: ReadonlySet<string> = new Set();
const NO_NEWEST_ROWS: NewestRows<never> = new Map();
/** How long the pages are kept after the list was last shown. */
const PAGES_GC_MS = 60_000;

export function useCursorList<Body, Row>(source: ListSource<Body, Row>): CursorList<Row> {
  const { topic, name, url, query, count = 50, moreCount = 100, read, idOf, follow, refreshMsOf, enabled = true } = source;
  const instanceId = useInstanceId();
  const client = useQueryClient();
  const fetchPage = async (cursor: string | null, signal: AbortSignal): Promise<LoadedPage<Row>> => {
    const readAt = Date.now();
    const pageQuery = { ...query, count: cursor === null ? count : moreCount, cursor };
    return { ...read(valueIn(await request<Body>(url, { instanceId, query: pageQuery, signal }))), readAt };
  };

  // Not under [instanceId, topic]: live hints must not refetch the rows that are on screen.
  const pagesKey = [instanceId, 'pages', topic, name, query ?? null];
  const newestKey = [instanceId, 'newest-rows', topic, name, query ?? null];
  const loadedPages = new LoadedPages(client, { pagesKey, newestKey, idOf });
  const pages = useInfiniteQuery<LoadedPage<Row>, ApiFailure, { pages: LoadedPage<Row>[] }, typeof pagesKey, string | null>({
    queryKey: pagesKey,
    initialPageParam: null,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    getNextPageParam: (last) => last.cursor,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: PAGES_GC_MS,
    refetchOnMount: 'always',
    enabled,
  });
  const { data: newestRows } = useQuery<NewestRows<Row>>({
    queryKey: newestKey,
    enabled: false,
    initialData: NO_NEWEST_ROWS,
    gcTime: PAGES_GC_MS,
  });
  const firstPage = useQuery<LoadedPage<Row>, ApiFailure>({
    queryKey: [instanceId, topic, name, 'first', query ?? null],
    queryFn: async ({ signal }) => {
      const page = await fetchPage(null, signal);
      loadedPages.update(page.rows, page.readAt);
      return page;
    },
    enabled: enabled && pages.data !== undefined,
    refetchInterval: ({ state: { data } }) => (data === undefined ? false : (refreshMsOf?.(data.rows) ?? false)),
    // The pages have just been fetched: only a live hint or the interval makes this query fetch.
    initialData: () => pages.data?.pages[0],
    staleTime: Number.POSITIVE_INFINITY,
  });

  const loadedRows = useMemo(
    () => (pages.data === undefined ? NO_ROWS : rowsIn(pages.data.pages, newestRows, idOf)),
    [pages.data, newestRows, idOf],
  );
  const freshPage = firstPage.data;
  // An empty list cannot move: show new rows immediately.
  const shownRows = loadedRows.length === 0 && freshPage !== undefined ? freshPage.rows : loadedRows;
  const isSinglePage = pages.data?.pages.length === 1 && pages.data.pages[0]?.cursor === null && freshPage?.cursor === null;
  const { rows, newCount, hasMoreNew, removedIds } = useMemo(
    () =>
      freshPage === undefined
        ? { rows: shownRows, newCount: 0, hasMoreNew: false, removedIds: NO_REMOVED_IDS }
        : stableRows(shownRows, freshPage.rows, idOf, isSinglePage),
    [shownRows, freshPage, idOf, isSinglePage],
  );
  const followedUntil = useFollowedRows(source, rows, freshPage?.rows ?? rows, loadedPages);
  const loadedAt = Math.min(...(pages.data?.pages.slice(1).map(({ readAt }) => readAt) ?? []));
  // Hints do not name all changes, so any page after the first may be out of date, unless its rows are followed.
  const freshCount = follow === undefined ? (pages.data?.pages[0]?.rows.length ?? 0) : followedUntil;
  const stale = freshCount !== null && freshPage !== undefined && freshPage.readAt > loadedAt ? { loadedAt, freshCount } : null;
  const showNew = () => {
    if (freshPage !== undefined) loadedPages.replace(freshPage);
  };
  return {
    rows,
    newCount,
    hasMoreNew,
    removedIds,
    showNew,
    isPending: enabled && pages.isPending,
    failure: rows.length === 0 ? pages.error : null,
    retry: () => void pages.refetch(),
    stale,
    refreshAll: () => void pages.refetch(),
    isRefreshing: pages.isRefetching && !pages.isFetchingNextPage,
    hasMore: pages.hasNextPage,
    isLoadingMore: pages.isFetchingNextPage,
    moreFailure: pages.isFetchNextPageError ? pages.error : null,
    searchedBackTo: pages.data?.pages.at(-1)?.searchedBackTo ?? null,
    loadMore: () => {
      if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage();
    },
  };
}

/**
 * Requests rows again that can still change and are not on the first page. Returns the number of rows that are up to date, or
 * null if all are.
 */
function useFollowedRows<Body, Row>(
  { topic, name, url, query, read, idOf, follow, enabled = true }: ListSource<Body, Row>,
  shown: readonly Row[],
  fresh: readonly Row[],
  loadedPages: LoadedPages<Row>,
): number | null {
  const instanceId = useInstanceId();
  const requestedAt = useRef(new Map<string, number>());
  const { rows, followedUntil } = useMemo(
    () => (follow === undefined ? { rows: NO_ROWS, followedUntil: null } : followedRows(shown, fresh, idOf, follow)),
    [shown, fresh, idOf, follow],
  );
  const isNeeded = enabled && rows.length > 0;
  const { isFetching, isError, refetch } = useQuery<number, ApiFailure>({
    queryKey: [instanceId, topic, name, 'followed', query ?? null],
    queryFn: async ({ signal }) => {
      if (follow === undefined) return 0;
      const requestedRows = nextRowsToRequest(rows, idOf, requestedAt.current, follow);
      const readAt = Date.now();
      const page = read(valueIn(await request<Body>(url, { instanceId, query: follow.queryOf(requestedRows), signal })));
      const now = Date.now();
      for (const row of requestedRows) requestedAt.current.set(idOf(row), now);
      loadedPages.update(page.rows, readAt);
      return now;
    },
    enabled: isNeeded,
    staleTime: Number.POSITIVE_INFINITY,
    ...(follow === undefined ? {} : { meta: { live: { runIds: rows.map(follow.runIdOf), isFinal: () => false } } }),
  });
  // A hint about a row can arrive before the row has left the first page, so each row is requested once when it leaves.
  const isNew = isNeeded && rows.some((row) => !requestedAt.current.has(idOf(row)));
  useEffect(() => {
    if (isNew && !isFetching && !isError) void refetch();
  }, [isNew, isFetching, isError, refetch]);
  return followedUntil;
}
