/** Keeps the height of a growing list of rows fixed and its last rows in view. */
import { type RefObject, useLayoutEffect, useRef, useState } from 'react';

/** Minimum and maximum height of a live list in rows, unless the user expands it. */
const MIN_ROWS = 8;
const MAX_ROWS = 18;

export interface FixedRows {
  /** Height in rows; null if the height is not fixed. */
  readonly rowCount: number | null;
  /** Whether the user expanded the list. */
  readonly isExpanded: boolean;
  /** Whether the list can be expanded or collapsed. */
  readonly canToggle: boolean;
  readonly toggle: () => void;
}

/** Returns a height that stays the same while rows are added, until the user expands the list. */
export function useFixedRows(fixed: boolean, count: number): FixedRows {
  const [rows] = useState(Math.max(MIN_ROWS, count));
  const [isExpanded, setIsExpanded] = useState(false);
  return {
    rowCount: fixed && !isExpanded ? rows : null,
    isExpanded: fixed && isExpanded,
    canToggle: fixed && rows < MAX_ROWS && (isExpanded || count > rows),
    toggle: () => setIsExpanded(!isExpanded),
  };
}

/** Keeps the last rows in view unless the user scrolls or focuses a row. The returned function is the scroll handler. */
export function useStickyEnd(fixed: boolean, count: number, scroll: RefObject<HTMLElement | null>): () => void {
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = scroll.current;
    if (!fixed || count === 0 || element === null || !isAtEnd.current || element.contains(document.activeElement)) return;
    element.scrollTop = element.scrollHeight;
  }, [fixed, count, scroll]);
  return () => {
    const element = scroll.current;
    if (element !== null) isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 4;
  };
}
