/** Selection of rows in a table: one row, all rows, or a range from the row that was selected last. */
import { useCallback, useLayoutEffect, useMemo, useRef } from 'react';

export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly onChange: (ids: ReadonlySet<string>) => void;
}

interface SelectionOptions<Row> {
  readonly selection: Selection | undefined;
  /** Rows in the order of the table. */
  readonly tableRows: readonly { readonly id: string }[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
}

export function useTableSelection<Row>({ selection, tableRows, rows, idOf }: SelectionOptions<Row>) {
  /** The row that was selected last, where a range starts. */
  const anchorId = useRef<string | null>(null);
  const toggle = (id: string) => {
    if (selection === undefined) return;
    const ids = new Set(selection.ids);
    if (!ids.delete(id)) ids.add(id);
    anchorId.current = id;
    selection.onChange(ids);
  };
  /** Gives all rows between the one selected last and this one the same selection state. */
  const selectTo = (index: number) => {
    const anchor = tableRows.findIndex(({ id }) => id === anchorId.current);
    const target = tableRows[index];
    if (selection === undefined || target === undefined) return;
    if (anchor === -1) return toggle(target.id);
    const ids = new Set(selection.ids);
    const isSelecting = selection.ids.has(tableRows[anchor]?.id ?? '');
    for (const { id } of tableRows.slice(Math.min(anchor, index), Math.max(anchor, index) + 1)) {
      if (isSelecting) ids.add(id);
      else ids.delete(id);
    }
    selection.onChange(ids);
  };
  /** Selects the current row and the next one. */
  const extend = (from: number, to: number) => {
    const [current, next] = [tableRows[from], tableRows[to]];
    if (selection === undefined || current === undefined || next === undefined) return;
    anchorId.current ??= current.id;
    selection.onChange(new Set([...selection.ids, current.id, next.id]));
  };

  const select = (index: number, isRange: boolean) => {
    const row = tableRows[index];
    if (isRange) selectTo(index);
    else if (row !== undefined) toggle(row.id);
  };
  const latestSelect = useRef(select);
  useLayoutEffect(() => {
    latestSelect.current = select;
  });
  const onSelect = useCallback((index: number, isRange: boolean) => latestSelect.current(index, isRange), []);

  const ids = selection?.ids;
  const allSelected = useMemo(
    () => ids !== undefined && ids.size > 0 && rows.length > 0 && rows.every((row) => ids.has(idOf(row))),
    [ids, rows, idOf],
  );
  const toggleAll = () => selection?.onChange(allSelected ? new Set() : new Set(rows.map(idOf)));

  return {
    extend,
    select,
    /** Stays the same function, so that rows render only when they change. */
    onSelect,
    allSelected,
    toggleAll,
  };
}
