/** Keeps the height of a growing list of rows fixed and its last rows in view. */
import { type RefObject, useLayoutEffect, useRef, useState } from 'react';

/** Minimum and maximum height of a live list in rows, unless the user expands it. */
const MIN_ROWS = 8;
const MAX_ROWS = 18;

export interface FixedRows {
  /** Height in rows; null if the height is not fixed. */
  readonly rows: number | null;
  /** Whether the user expanded the list. */
  readonly high: boolean;
  /** Whether the list can be expanded or collapsed. */
  readonly more: boolean;
  readonly toggle: () => void;
}

/** Returns a height that stays the same while rows are added, until the user expands the list. */
export function useFixedRows(fixed: boolean, count: number): FixedRows {
  const [rows] = useState(Math.max(MIN_ROWS, count));
  const [high, setHigh] = useState(false);
  return {
    rows: fixed && !high ? rows : null,
    high: fixed && high,
    more: fixed && rows < MAX_ROWS && (high || count > rows),
    toggle: () => setHigh(!high),
  };
}

/** Keeps the last rows in view unless the user scrolls or focuses a row. The returned function is the scroll handler. */
export function useStickyEnd(fixed: boolean, count: number, scroll: RefObject<HTMLElement | null>): () => void {
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const element = scroll.current;
    if (!fixed || count === 0 || element === null || !atEnd.current || element.contains(document.activeElement)) return;
    element.scrollTop = element.scrollHeight;
  }, [fixed, count, scroll]);
  return () => {
    const element = scroll.current;
    if (element !== null) atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 4;
  };
}
