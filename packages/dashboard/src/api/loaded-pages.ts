/** The pages of a list in the query cache, and the newest states of their rows. */
import { type InfiniteData, type QueryClient, type QueryKey, replaceEqualDeep } from '@tanstack/react-query';

export interface CursorPage<Row> {
  readonly rows: readonly Row[];
  /** Cursor of the next page; null at the end. */
  readonly cursor: string | null;
  /** For a search that scans a limited number of rows per page: how far back it has searched, Unix ms. Its pages can be empty. */
  readonly searchedBackTo?: number | null;
}

export interface LoadedPage<Row> extends CursorPage<Row> {
  /** When the page was requested, Unix ms. */
  readonly readAt: number;
}

interface NewestRow<Row> {
  readonly row: Row;
  /** When the row was requested, Unix ms. */
  readonly readAt: number;
}

/** States of rows that were requested after the pages, by the id of the row. */
export type NewestRows<Row> = ReadonlyMap<string, NewestRow<Row>>;

type IdOf<Row> = (row: Row) => string;

/** Returns the rows of the pages, each in its newest state. */
export function rowsIn<Row>(
  pages: readonly Pick<LoadedPage<Row>, 'rows' | 'readAt'>[],
  newestRows: NewestRows<Row>,
  idOf: IdOf<Row>,
): readonly Row[] {
  return pages.flatMap(({ rows, readAt }) =>
    rows.map((row) => {
      const newest = newestRows.get(idOf(row));
      return newest !== undefined && newest.readAt >= readAt ? newest.row : row;
    }),
  );
}

export class LoadedPages<Row> {
  private readonly client: QueryClient;
  private readonly pagesKey: QueryKey;
  private readonly newestKey: QueryKey;
  private readonly idOf: IdOf<Row>;

  /** `pagesKey` is the key of the infinite query with the pages. `newestKey` is the key of a query without a function. */
  constructor(
    client: QueryClient,
    { pagesKey, newestKey, idOf }: { readonly pagesKey: QueryKey; readonly newestKey: QueryKey; readonly idOf: IdOf<Row> },
  ) {
    this.client = client;
    this.pagesKey = pagesKey;
    this.newestKey = newestKey;
    this.idOf = idOf;
  }

  /**
   * Records newer states of rows, so that a row keeps its newest state when newer rows push it out of the first page. They are
   * not written into the pages, because a request for another page, when it ends, restores the pages from before it started.
   */
  update(rows: readonly Row[], readAt: number): void {
    const { client, pagesKey, newestKey, idOf } = this;
    const pages = client.getQueryData<InfiniteData<LoadedPage<Row>>>(pagesKey)?.pages ?? [];
    const shownIds = new Set(pages.flatMap(({ rows: pageRows }) => pageRows.map(idOf)));
    client.setQueryData<NewestRows<Row>>(newestKey, (known = new Map()) => {
      const newestRows = new Map([...known].filter(([id]) => shownIds.has(id)));
      for (const row of rows) {
        const id = idOf(row);
        const knownRow = newestRows.get(id);
        if (!shownIds.has(id) || (knownRow !== undefined && knownRow.readAt > readAt)) continue;
        // A row that is equal keeps its identity, so that it is not rendered again.
        newestRows.set(id, { row: replaceEqualDeep(knownRow?.row, row), readAt });
      }
      return newestRows;
    });
  }

  /** Replaces all pages by this first page. */
  replace(firstPage: LoadedPage<Row>): void {
    const { client, pagesKey } = this;
    // A request for another page would restore the pages from before it started.
    void client.cancelQueries({ queryKey: pagesKey, exact: true });
    client.setQueryData(pagesKey, { pages: [firstPage], pageParams: [null] });
  }
}
