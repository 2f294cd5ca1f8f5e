/** How a list of rows that come one after the other stays where it is, and shows those that came last. */
import { type RefObject, useLayoutEffect, useRef, useState } from 'react';

/** What is seen to go on has room for so many rows at the least, and without being asked for not for more than that. */
const LEAST_ROWS = 8;
const MOST_ROWS = 18;

export interface HeldRows {
  /** Rows that there is room for; null: as many as there are, or as fit. */
  readonly rows: number | null;
  /** Somebody asked for as much room as there is. */
  readonly high: boolean;
  /** There are more rows than are in view, or there is more room than was at first. */
  readonly more: boolean;
  readonly toggle: () => void;
}

/** Room that stays the same while rows come, until somebody asks for more of it. */
export function useHeldRows(held: boolean, count: number): HeldRows {
  const [rows] = useState(Math.max(LEAST_ROWS, count));
  const [high, setHigh] = useState(false);
  return {
    rows: held && !high ? rows : null,
    high: held && high,
    more: held && rows < MOST_ROWS && (high || count > rows),
    toggle: () => setHigh(!high),
  };
}

/** Keeps the end in view for as long as nobody looks at something else. To be called when it was scrolled. */
export function useFollowedEnd(held: boolean, count: number, scroll: RefObject<HTMLElement | null>): () => void {
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const element = scroll.current;
    if (!held || count === 0 || element === null || !atEnd.current || element.contains(document.activeElement)) return;
    element.scrollTop = element.scrollHeight;
  }, [held, count, scroll]);
  return () => {
    const element = scroll.current;
    if (element !== null) atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 4;
  };
}
