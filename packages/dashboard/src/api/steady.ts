/** Lists that do not move under the reader: known rows are brought up to date in place, new ones are counted until asked for. */

export interface SteadyRows<Row> {
  /** In the order in which they were first shown. */
  readonly rows: readonly Row[];
  /** How many rows are held back. */
  readonly newCount: number;
  /** Ids of rows that are shown but are not in the list any more. */
  readonly gone: ReadonlySet<string>;
}

/**
 * @param shown what the reader has before them
 * @param fresh the beginning of the list as it is now
 * @param whole whether both are the whole list; then what is missing in `fresh` is gone
 */
export function steady<Row>(
  shown: readonly Row[],
  fresh: readonly Row[],
  idOf: (row: Row) => string,
  whole = false,
): SteadyRows<Row> {
  const now = new Map(fresh.map((row) => [idOf(row), row]));
  const known = new Set(shown.map(idOf));
  // What is older than the last known row of the page came into view because others left, and is no news; of a list that
  // is known as a whole nothing was out of view.
  let lastKnown = -1;
  for (const [index, row] of fresh.entries()) if (known.has(idOf(row))) lastKnown = index;
  const end = whole || lastKnown === -1 ? fresh.length : lastKnown;
  const newCount = fresh.slice(0, end).filter((row) => !known.has(idOf(row))).length;
  const gone = new Set<string>();
  if (whole) for (const id of known) if (!now.has(id)) gone.add(id);
  return { rows: shown.map((row) => now.get(idOf(row)) ?? row), newCount, gone };
}
