/** Focus of the rows of a virtualized table. A row that is not rendered yet receives focus once it is rendered. */
import { useLayoutEffect, useMemo, useRef, useState } from 'react';

interface RowFocusOptions {
  /** Prefix of the element ids of rows. */
  readonly tableId: string;
  /** Rows in the order of the table. */
  readonly tableRows: readonly { readonly id: string; readonly index: number }[];
  readonly scrollToIndex: (index: number, options: { readonly align: 'auto' }) => void;
}

export function useRowFocus({ tableId, tableRows, scrollToIndex }: RowFocusOptions) {
  const [currentId, setCurrentId] = useState<string | null>(null);
  const shouldMoveFocus = useRef(false);
  const currentIndex = useMemo(
    () =>
      Math.max(
        0,
        tableRows.findIndex(({ id }) => id === currentId),
      ),
    [tableRows, currentId],
  );
  const focusRow = (index: number) => {
    const nextRow = tableRows[Math.min(Math.max(index, 0), tableRows.length - 1)];
    if (nextRow === undefined) return;
    shouldMoveFocus.current = true;
    setCurrentId(nextRow.id);
    scrollToIndex(nextRow.index, { align: 'auto' });
  };
  // In a layout effect, so that the next key reaches the new row.
  useLayoutEffect(() => {
    if (!shouldMoveFocus.current || currentId === null) return;
    const row = document.getElementById(`${tableId}-${currentIndex}`);
    if (row === null) return;
    shouldMoveFocus.current = false;
    row.focus({ preventScroll: true });
  });

  return { currentIndex, setCurrentId, focusRow };
}
