/** Pages of a listing. */

/** A position in a listing, in a format of the store: a short printable string. */
export type Position = string;

/** A page of a listing. */
export interface Page<Filter> {
  readonly instanceId: string;
  readonly filter: Filter;
  readonly order: 'newest-first' | 'oldest-first';
  /** Position after which the page starts; null starts a listing. */
  readonly after: Position | null;
  /** Entries that were added after this position was read are skipped; null skips no entries. */
  readonly horizon: Position | null;
  readonly limit: number;
}

/** The items of one page. */
export interface Listing<Item> {
  readonly items: readonly Item[];
  /** Start of the next page; null if and only if there are no more items. */
  readonly next: Position | null;
}
