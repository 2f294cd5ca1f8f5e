/** Updates a live list without moving its rows: known rows are updated in place, new rows are only counted. */

export interface StableRows<Row> {
  /** Rows in the order in which they were first shown. */
  readonly rows: readonly Row[];
  /** Number of new rows that are not shown yet. */
  readonly newCount: number;
  /** Whether more rows may be new than were counted, because the fresh rows and the rows on screen do not overlap. */
  readonly hasMoreNew: boolean;
  /** Ids of rows that are shown but are no longer in the list. */
  readonly removedIds: ReadonlySet<string>;
}

/**
 * Merges the current state of a list into the rows that are on screen.
 * @param shown rows on screen
 * @param fresh first rows of the list in its current state
 * @param isCompleteList whether both are complete lists; if so, rows that are missing in `fresh` were removed
 */
export function stableRows<Row>(
  shown: readonly Row[],
  fresh: readonly Row[],
  idOf: (row: Row) => string,
  isCompleteList = false,
): StableRows<Row> {
  const freshIds = new Set(fresh.map(idOf));
  const shownIds = new Set(shown.map(idOf));
  // Rows after the last known one are older rows that moved up because others left, so they are not new. In a complete list
  // there are no such rows.
  let lastKnown = -1;
  for (const [index, row] of fresh.entries()) if (shownIds.has(idOf(row))) lastKnown = index;
  const end = isCompleteList || lastKnown === -1 ? fresh.length : lastKnown;
  const newCount = fresh.slice(0, end).filter((row) => !shownIds.has(idOf(row))).length;
  const removedIds = new Set<string>();
  if (isCompleteList) for (const id of shownIds) if (!freshIds.has(id)) removedIds.add(id);
  const hasMoreNew = !isCompleteList && lastKnown === -1 && shown.length > 0 && fresh.length > 0;
  return { rows: applyUpdates(shown, fresh, idOf), newCount, hasMoreNew, removedIds };
}

/** Returns the rows in their order, each in its newest state. Returns the same list if nothing changed. */
function applyUpdates<Row>(rows: readonly Row[], updates: readonly Row[], idOf: (row: Row) => string): readonly Row[] {
  const updatesById = new Map(updates.map((row) => [idOf(row), row]));
  return rows.some((row) => updatesById.has(idOf(row))) ? rows.map((row) => updatesById.get(idOf(row)) ?? row) : rows;
}
