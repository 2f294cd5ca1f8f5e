/** Selection of intervals in a histogram, with a pointer or with the keyboard. */

/** Intervals by index. The selection extends from the anchor to the cursor, both included. */
export interface RangeSelection {
  readonly anchor: number;
  readonly cursor: number;
}

interface Span {
  readonly first: number;
  readonly last: number;
}

/** Returns the first and the last selected interval. */
export const spanOf = ({ anchor, cursor }: RangeSelection): Span => ({
  first: Math.min(anchor, cursor),
  last: Math.max(anchor, cursor),
});

const PAGE_INTERVALS = 10;

/** New position of the cursor, by key. */
const MOVES: Readonly<Record<string, (cursor: number, last: number) => number>> = {
  ArrowLeft: (cursor) => cursor - 1,
  ArrowDown: (cursor) => cursor - 1,
  ArrowRight: (cursor) => cursor + 1,
  ArrowUp: (cursor) => cursor + 1,
  PageDown: (cursor) => cursor - PAGE_INTERVALS,
  PageUp: (cursor) => cursor + PAGE_INTERVALS,
  Home: () => 0,
  End: (_cursor, last) => last,
};

/**
 * Returns the selection after a key, or null if the key does not move the cursor. Without a selection, the cursor is at the last of
 * the `count` intervals. `keepsAnchor` extends the selection.
 */
export function moveSelection(
  selection: RangeSelection | null,
  { key, keepsAnchor, count }: { readonly key: string; readonly keepsAnchor: boolean; readonly count: number },
): RangeSelection | null {
  const move = MOVES[key];
  if (move === undefined || count === 0) return null;
  const lastIndex = count - 1;
  const start = selection ?? { anchor: lastIndex, cursor: lastIndex };
  const cursor = Math.min(lastIndex, Math.max(0, move(start.cursor, lastIndex)));
  return { anchor: keepsAnchor ? start.anchor : cursor, cursor };
}

/** Returns the interval at a position from 0 to 1. */
export const intervalAt = (fraction: number, count: number): number =>
  Math.min(count - 1, Math.max(0, Math.floor(fraction * count)));
