import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { InfiniteQueryObserver, QueryClient } from '@tanstack/react-query';
import { type LoadedPage, LoadedPages, type NewestRows, rowsIn } from './loaded-pages.js';

interface Row {
  readonly id: string;
  readonly state: string;
}
const row = (id: string, state = 'running'): Row => ({ id, state });
const idOf = ({ id }: Row) => id;
const page = (readAt: number, rows: readonly Row[], cursor: string | null = null): LoadedPage<Row> => ({ rows, cursor, readAt });

/** A list whose first page is loaded, and whose requests the test answers. */
async function loadedList(firstPage: LoadedPage<Row>) {
  const client = new QueryClient({ defaultOptions: { queries: { gcTime: Number.POSITIVE_INFINITY, retry: false } } });
  const [pagesKey, newestKey] = [['pages'], ['newest-rows']];
  let answer: (loaded: LoadedPage<Row>) => void = () => {};
  const observer = new InfiniteQueryObserver(client, {
    queryKey: pagesKey,
    initialPageParam: null as string | null,
    queryFn: () =>
      new Promise<LoadedPage<Row>>((resolve) => {
        answer = resolve;
      }),
    getNextPageParam: (last: LoadedPage<Row>) => last.cursor,
  });
  observer.subscribe(() => {});
  const loadedPages = new LoadedPages<Row>(client, { pagesKey, newestKey, idOf });
  const shown = () => {
    const newestRows = client.getQueryData<NewestRows<Row>>(newestKey) ?? new Map();
    return rowsIn(observer.getCurrentResult().data?.pages ?? [], newestRows, idOf).map(({ id, state }) => `${id} ${state}`);
  };
  const load = async (request: Promise<unknown>, loaded: LoadedPage<Row>) => {
    answer(loaded);
    await request;
  };
  await load(observer.refetch({ cancelRefetch: false }), firstPage);
  return { client, newestKey, observer, loadedPages, shown, load };
}

describe('the loaded pages of a list', () => {
  test('keep states that arrive while the next page is loading', async () => {
    const { observer, loadedPages, shown, load } = await loadedList(page(1, [row('b'), row('a')], 'next'));
    const request = observer.fetchNextPage();
    loadedPages.update([row('b', 'succeeded')], 2);
    assert.deepEqual(shown(), ['b succeeded', 'a running']);
    await load(request, page(2, [row('z')]));
    assert.deepEqual(shown(), ['b succeeded', 'a running', 'z running']);
  });

  test('keep states that are newer than pages that are requested again', async () => {
    const { observer, loadedPages, shown, load } = await loadedList(page(1, [row('b'), row('a')]));
    const request = observer.refetch();
    loadedPages.update([row('b', 'succeeded')], 3);
    loadedPages.update([row('b'), row('a', 'waiting')], 1);
    await load(request, page(2, [row('b'), row('a', 'failed')]));
    assert.deepEqual(shown(), ['b succeeded', 'a failed']);
  });

  test('stay replaced when the next page was loading', async () => {
    const { observer, loadedPages, shown, load } = await loadedList(page(1, [row('a')], 'next'));
    const request = observer.fetchNextPage();
    loadedPages.replace(page(2, [row('b'), row('a')], 'next'));
    await load(request, page(2, [row('z')]));
    assert.deepEqual(shown(), ['b running', 'a running']);
    assert.equal(observer.getCurrentResult().isFetching, false);
  });

  test('keep no states of other rows, and the identity of rows that have not changed', async () => {
    const { client, newestKey, loadedPages } = await loadedList(page(1, [row('b'), row('a')]));
    const newestRows = () => client.getQueryData<NewestRows<Row>>(newestKey) ?? new Map();
    loadedPages.update([row('a', 'failed'), row('x')], 2);
    assert.deepEqual([...newestRows().keys()], ['a']);
    const before = newestRows().get('a')?.row;
    loadedPages.update([row('a', 'failed')], 3);
    assert.equal(newestRows().get('a')?.row, before);
    loadedPages.replace(page(4, [row('b')]));
    loadedPages.update([], 5);
    assert.equal(newestRows().size, 0);
  });
});
