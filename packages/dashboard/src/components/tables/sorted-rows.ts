/**
 * Sorts the rows of a list that is loaded completely, by the column in the URL parameter `sort`: `name`, or `-name` for the
 * reverse. Rows keep their positions while their values change, until a row is added or removed or the user sorts again.
 */
import { useCallback, useMemo, useRef } from 'react';
import { useFilters } from './filters.js';
import type { Column } from './table-row.js';

const NAMES = ['sort'] as const;
const collator = new Intl.Collator(undefined, { numeric: true });

export type SortDirection = 'ascending' | 'descending';
type SortValue = string | number;

/** Compares two values of a column. Missing values are last in both directions. */
function compare(a: SortValue | null, b: SortValue | null, direction: SortDirection): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));
  return direction === 'ascending' ? order : -order;
}

/** Returns the rows in the order of a column. Rows with equal values keep the order of the list. */
export const sortRows = <Row>(
  rows: readonly Row[],
  sortValueOf: (row: Row) => SortValue | null,
  direction: SortDirection,
): readonly Row[] =>
  rows
    .map((row) => ({ row, value: sortValueOf(row) }))
    .sort((a, b) => compare(a.value, b.value, direction))
    .map(({ row }) => row);

export interface RowSort {
  readonly columnId: string;
  readonly direction: SortDirection;
}

/** Parses the URL parameter; null if the rows are not sorted. */
export const readSort = (text: string | undefined): RowSort | null =>
  text === undefined || text === '' || text === '-'
    ? null
    : text.startsWith('-')
      ? { columnId: text.slice(1), direction: 'descending' }
      : { columnId: text, direction: 'ascending' };

/**
 * Returns the URL parameter after a click on the header of a column. The first click shows the largest numbers or the first texts
 * on top, the second one reverses the order, and the third one restores the order of the list.
 */
export function sortAfterClick(current: RowSort | null, columnId: string, firstDirection: SortDirection): string {
  const direction = current?.columnId === columnId ? current.direction : null;
  if (direction !== null && direction !== firstDirection) return '';
  const nextDirection = direction === null ? firstDirection : firstDirection === 'ascending' ? 'descending' : 'ascending';
  return nextDirection === 'descending' ? `-${columnId}` : columnId;
}

interface SortedRowsOptions<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Whether `rows` are all rows of the list. */
  readonly hasAllRows: boolean;
}

export interface SortedRows<Row> {
  readonly rows: readonly Row[];
  /** The sort button of a column; undefined if the rows cannot be sorted by it. */
  readonly sortOf: (column: Column<Row>) => Column<Row>['sort'];
}

export function useSortedRows<Row>({ columns, rows, idOf, hasAllRows }: SortedRowsOptions<Row>): SortedRows<Row> {
  const { values, set } = useFilters(NAMES);
  const requested = hasAllRows ? readSort(values.sort) : null;
  const column = columns.find(({ id, sortBy }) => id === requested?.columnId && sortBy !== undefined);
  const direction = column === undefined ? null : (requested?.direction ?? null);
  const sortValueOf = column?.sortBy;
  const lastOrder = useRef<{ readonly sortKey: string; readonly ids: readonly string[] }>({ sortKey: '', ids: [] });
  // biome-ignore lint/correctness/useExhaustiveDependencies: columns can be new objects in each rendering
  const sortedRows = useMemo(() => {
    if (sortValueOf === undefined || direction === null) return rows;
    const sortKey = `${column?.id} ${direction}`;
    const byId = new Map(rows.map((row) => [idOf(row), row]));
    const { ids } = lastOrder.current;
    const keepsOrder = lastOrder.current.sortKey === sortKey && ids.length === rows.length && ids.every((id) => byId.has(id));
    if (keepsOrder) return ids.flatMap((id) => byId.get(id) ?? []);
    const sorted = sortRows(rows, sortValueOf, direction);
    lastOrder.current = { sortKey, ids: sorted.map(idOf) };
    return sorted;
  }, [rows, column?.id, direction]);
  const sortOf = useCallback(
    ({ id, sort, sortBy }: Column<Row>): Column<Row>['sort'] => {
      // The order of the list itself. While another column sorts the rows, a click restores it.
      if (sort !== undefined) return direction === null ? sort : { direction: null, onToggle: () => set('sort', '') };
      if (!hasAllRows || sortBy === undefined || rows.length < 2) return undefined;
      const withValue = rows.find((row) => sortBy(row) !== null);
      const firstValue = withValue === undefined ? null : sortBy(withValue);
      const initialDirection = typeof firstValue === 'number' ? 'descending' : 'ascending';
      const currentSort = column === undefined || direction === null ? null : { columnId: column.id, direction };
      return {
        direction: column?.id === id ? direction : null,
        onToggle: () => set('sort', sortAfterClick(currentSort, id, initialDirection)),
      };
    },
    [rows, hasAllRows, column, direction, set],
  );
  return { rows: sortedRows, sortOf };
}
