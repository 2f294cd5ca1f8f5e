/**
 * Rows on screen that can still change but are no longer among the first rows, which are refreshed as a page. They are
 * requested again by id, so that no row shows an outdated state as the current one.
 */
import type { Query } from './client.js';

/** Declares which rows are requested again, and how. */
export interface FollowRule<Row> {
  /** Whether the row is final. */
  readonly isFinal: (row: Row) => boolean;
  /** Query that returns these rows, in the format of a page. */
  readonly queryOf: (rows: readonly Row[]) => Query;
  /** Id of the run that the row shows, as live hints name it. */
  readonly runIdOf: (row: Row) => string;
  /** Size of a row in the query, in characters. */
  readonly sizeOf: (row: Row) => number;
}

/** Maximum number of rows, and of characters, in one request. */
const MAX_ROWS = 50;
const MAX_CHARACTERS = 5_000;
/** Maximum number of rows that are followed. Later rows are marked as outdated. */
export const MAX_FOLLOWED = 200;

export interface FollowedRows<Row> {
  readonly rows: readonly Row[];
  /** Number of rows before the first one that is not followed; null if all rows are followed. */
  readonly followedUntil: number | null;
}

/** Returns the rows on screen that can still change and are not among the fresh ones. */
export function followedRows<Row>(
  shown: readonly Row[],
  fresh: readonly Row[],
  idOf: (row: Row) => string,
  { isFinal }: Pick<FollowRule<Row>, 'isFinal'>,
): FollowedRows<Row> {
  const freshIds = new Set(fresh.map(idOf));
  const rows: Row[] = [];
  for (const [index, row] of shown.entries()) {
    if (isFinal(row) || freshIds.has(idOf(row))) continue;
    if (rows.length === MAX_FOLLOWED) return { rows, followedUntil: index };
    rows.push(row);
  }
  return { rows, followedUntil: null };
}

/** Returns the rows of the next request: those that were requested the longest time ago, or never. */
export function nextRowsToRequest<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  requestedAt: ReadonlyMap<string, number>,
  { sizeOf }: Pick<FollowRule<Row>, 'sizeOf'>,
): readonly Row[] {
  const timeOf = (row: Row): number => requestedAt.get(idOf(row)) ?? 0;
  const nextRows: Row[] = [];
  let characters = 0;
  for (const row of [...rows].sort((a, b) => timeOf(a) - timeOf(b))) {
    characters += sizeOf(row);
    if (nextRows.length > 0 && (nextRows.length === MAX_ROWS || characters > MAX_CHARACTERS)) break;
    nextRows.push(row);
  }
  return nextRows;
}
