/**
 * The position in a table that the user returns to with Back or Forward: the row that was opened, or else the first row in view, at
 * the same height in the window. Rows can be added above it before the user returns, so the row is found by its id and not by a
 * scroll position.
 */
import { useRouter } from '@tanstack/react-router';
import { useEffect, useLayoutEffect, useRef } from 'react';

interface RowPosition {
  readonly rowId: string;
  /** Distance of the row from the top of the window in px. */
  readonly top: number;
  readonly hadFocus: boolean;
}

/** Positions by entry of the browser history and by table, oldest first. */
const positions = new Map<string, RowPosition>();
const MAX_POSITIONS = 100;

function storePosition(key: string, position: RowPosition): void {
  positions.delete(key);
  positions.set(key, position);
  const [oldest] = positions.keys();
  if (positions.size > MAX_POSITIONS && oldest !== undefined) positions.delete(oldest);
}

function takePosition(key: string): RowPosition | null {
  const position = positions.get(key) ?? null;
  positions.delete(key);
  return position;
}

interface RowReturnOptions {
  /** Distinguishes the tables of a page. */
  readonly label: string;
  /** Prefix of the element ids of rows. */
  readonly tableId: string;
  /** Rows in the order of the table. */
  readonly tableRows: readonly { readonly id: string; readonly index: number }[];
  readonly setCurrentId: (id: string) => void;
  readonly scrollToIndex: (index: number, options: { readonly align: 'start' }) => void;
}

/** Events with which the user takes over the scroll position. */
const USER_SCROLL_EVENTS = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

const isInView = ({ top, bottom }: DOMRect): boolean => bottom > 0 && top < window.innerHeight;

/** Returns the row with the focus if it is in view, or else the first row in view. */
function positionOf(tableId: string, idAt: (index: number) => string | undefined): RowPosition | null {
  const rows = [...document.querySelectorAll<HTMLElement>(`[id^="${CSS.escape(tableId)}-"].table-row`)]
    .map((row) => ({ row, rect: row.getBoundingClientRect(), hadFocus: row.contains(document.activeElement) }))
    .filter(({ rect }) => isInView(rect))
    .sort((a, b) => Number(b.hadFocus) - Number(a.hadFocus) || a.rect.top - b.rect.top);
  const [firstRow] = rows;
  const rowId = firstRow && idAt(Number(firstRow.row.dataset.index));
  return firstRow === undefined || rowId === undefined ? null : { rowId, top: firstRow.rect.top, hadFocus: firstRow.hadFocus };
}

/** Stores the position when the user leaves the page, and returns to it. */
export function useRowReturn({ label, tableId, tableRows, setCurrentId, scrollToIndex }: RowReturnOptions): void {
  const router = useRouter();
  const latestRows = useRef(tableRows);
  const target = useRef<RowPosition | null | undefined>(undefined);
  if (target.current === undefined) target.current = takePosition(`${router.latestLocation.state.__TSR_key} ${label}`);

  useLayoutEffect(() => {
    latestRows.current = tableRows;
  });
  useEffect(
    () =>
      router.subscribe('onBeforeLoad', ({ fromLocation, pathChanged }) => {
        const position = pathChanged ? positionOf(tableId, (index) => latestRows.current[index]?.id) : null;
        if (fromLocation !== undefined && position !== null) storePosition(`${fromLocation.state.__TSR_key} ${label}`, position);
      }),
    [router, tableId, label],
  );
  const hasArrived = useRef(false);
  useEffect(() => {
    const stop = () => {
      target.current = null;
    };
    // Dragging the scrollbar of the window has no event, but the pointer moves over the page before it.
    const stopIfArrived = ({ movementX, movementY }: PointerEvent) => {
      if (hasArrived.current && (movementX !== 0 || movementY !== 0)) stop();
    };
    for (const event of USER_SCROLL_EVENTS) window.addEventListener(event, stop, { passive: true });
    window.addEventListener('pointermove', stopIfArrived, { passive: true });
    return () => {
      for (const event of USER_SCROLL_EVENTS) window.removeEventListener(event, stop);
      window.removeEventListener('pointermove', stopIfArrived);
    };
  }, []);
  // This runs on every render, because rows above can still be added and measured.
  useEffect(() => {
    const position = target.current;
    const row = position ? tableRows.find(({ id }) => id === position.rowId) : undefined;
    if (!position || row === undefined) return;
    const element = document.getElementById(`${tableId}-${row.index}`);
    if (element === null) return scrollToIndex(row.index, { align: 'start' });
    const offset = element.getBoundingClientRect().top - position.top;
    if (Math.abs(offset) >= 1) window.scrollBy(0, offset);
    else hasArrived.current = true;
    const active = document.activeElement;
    if (!position.hadFocus || (active !== null && active !== document.body && active.tagName !== 'H1')) return;
    setCurrentId(row.id);
    element.focus({ preventScroll: true });
  });
}
