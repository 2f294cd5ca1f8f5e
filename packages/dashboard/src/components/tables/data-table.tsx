// biome-ignore-all lint/a11y/useSemanticElements: virtualized rows are positioned absolutely, which table rows do not support
// biome-ignore-all lint/a11y/useFocusableInteractive: in this grid rows receive focus instead of their cells
/**
 * A virtualized table: only rows in view are rendered, while the page scrolls as a whole. Rows receive focus. Arrow keys or
 * j and k move, Enter opens, Space selects, Home and End go to the first and last row. With Shift, Space or a click selects a
 * range from the row selected last, and an arrow key adds the next row.
 */
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import {
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Icon } from '../icons.js';
import { useWindowWidth } from '../times/window-width.js';
import { InTableContext } from './in-table.js';
import { useRowFocus } from './row-focus.js';
import { useOpenHref } from './row-link.js';
import { useRowReturn } from './row-return.js';
import { type SortedRows, useSortedRows } from './sorted-rows.js';
import { type Column, hostColumn, isColumnShown, TableRow } from './table-row.js';
import { type Selection, useTableSelection } from './table-selection.js';

export type { Column } from './table-row.js';

export interface DataTableProps<Row> {
  /** Accessible name of the table. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Name of a row, for the label of its checkbox. */
  readonly nameOf?: (row: Row) => string;
  /** Path that a row leads to: it opens on a click, and in a new tab with the middle button, Ctrl or Cmd. */
  readonly hrefOf?: (row: Row) => string;
  /** Opens a row that has no path, such as one with a dialog. */
  readonly onOpen?: (row: Row) => void;
  readonly selection?: Selection;
  readonly removedIds?: ReadonlySet<string>;
  readonly estimatedHeight?: number;
  /** Called shortly before the last rows come into view. */
  readonly onEnd?: () => void;
  /** Whether `rows` are all rows of the list, so that columns can sort them. Default: true. */
  readonly hasAllRows?: boolean;
  /** Shown below the rows. */
  readonly footer?: ReactNode;
}

const OVERSCAN = 8;
/** Number of remaining rows at which more rows are loaded. */
const LOAD_AHEAD = 20;

/** Returns the row that an event happened in, or null for popups above the rows. */
const rowOf = ({ target }: { readonly target: EventTarget }): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>('.table-row') : null;
const indexOf = (row: HTMLElement): number => Number(row.dataset.index);

interface SortButtonProps {
  readonly header: string;
  readonly sort: Column<never>['sort'];
}

function SortButton({ header, sort }: SortButtonProps) {
  if (sort === undefined) return header;
  const { direction, onToggle } = sort;
  return (
    <button
      type="button"
      className="table-sort"
      title={direction === null ? 'Sort by this column' : 'Change the sort order'}
      onClick={onToggle}
    >
      {header}
      {direction === null ? null : <Icon name={direction === 'descending' ? 'down' : 'up'} />}
    </button>
  );
}

interface ColumnHeaderProps<Row> {
  readonly column: Column<Row>;
  /** Sortable columns that are stacked under this one, whose buttons are beside its header. */
  readonly stacked: readonly Column<Row>[];
  readonly sortOf: SortedRows<Row>['sortOf'];
}

function ColumnHeader<Row>({ column, stacked, sortOf }: ColumnHeaderProps<Row>) {
  const direction = [column, ...stacked].map((candidate) => sortOf(candidate)?.direction).find((candidate) => candidate);
  return (
    <div
      role="columnheader"
      className="clip table-title"
      data-align={column.align}
      data-stacked={stacked.length === 0 ? undefined : ''}
      aria-sort={direction ?? undefined}
    >
      <SortButton header={column.header} sort={sortOf(column)} />
      {stacked.map((hidden) => (
        <SortButton key={hidden.id} header={hidden.header} sort={sortOf(hidden)} />
      ))}
    </div>
  );
}

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, idOf, nameOf = idOf, hrefOf, onOpen } = props;
  const { selection, removedIds, estimatedHeight = 34, onEnd, footer } = props;
  const { rows, sortOf } = useSortedRows({ columns, rows: props.rows, idOf, hasAllRows: props.hasAllRows ?? true });
  const windowWidth = useWindowWidth();
  const body = useRef<HTMLDivElement>(null);
  const tableId = useId();
  const [margin, setMargin] = useState(0);
  const openHref = useOpenHref();
  const opensRow = hrefOf !== undefined || onOpen !== undefined;
  const openRow = (row: Row, click?: MouseEvent) => {
    if (hrefOf === undefined) onOpen?.(row);
    else openHref(hrefOf(row), click);
  };

  const shownColumns = useMemo(() => columns.filter((column) => isColumnShown(column, windowWidth)), [columns, windowWidth]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the id of a row depends on nothing else
  const tableRows = useMemo(() => rows.map((original, index) => ({ id: idOf(original), index, original })), [rows]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each of these can change the height of what is above the table
  useLayoutEffect(() => {
    const top = body.current?.getBoundingClientRect().top;
    if (top !== undefined) setMargin(top + window.scrollY);
  }, [rows.length === 0, windowWidth, shownColumns]);

  // The function must stay the same while the rows do: a new one makes the virtualizer measure all rows again on every frame.
  const getItemKey = useCallback((index: number) => tableRows[index]?.id ?? index, [tableRows]);
  const virtualizer = useWindowVirtualizer({
    count: tableRows.length,
    estimateSize: () => estimatedHeight,
    overscan: OVERSCAN,
    scrollMargin: margin,
    getItemKey,
  });
  const items = virtualizer.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (lastShown >= tableRows.length - 1 - LOAD_AHEAD && tableRows.length > 0) onEnd?.();
  }, [lastShown, tableRows.length, onEnd]);

  const { currentIndex, setCurrentId, focusRow } = useRowFocus({ tableId, tableRows, scrollToIndex: virtualizer.scrollToIndex });
  useRowReturn({ label, tableId, tableRows, setCurrentId, scrollToIndex: virtualizer.scrollToIndex });
  const { extend, select, onSelect, allSelected, toggleAll } = useTableSelection({ selection, tableRows, rows, idOf });

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const element = rowOf(event);
    if (element === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const isInRow = event.target === element;
    const index = indexOf(element);
    const row = tableRows[index];
    switch (event.key) {
      case 'ArrowDown':
      case 'j':
        if (!isInRow && event.key === 'j') return;
        if (event.shiftKey) extend(index, index + 1);
        focusRow(index + 1);
        break;
      case 'ArrowUp':
      case 'k':
        if (!isInRow && event.key === 'k') return;
        if (event.shiftKey) extend(index, index - 1);
        focusRow(index - 1);
        break;
      case 'Home':
        focusRow(0);
        break;
      case 'End':
        focusRow(tableRows.length - 1);
        break;
      case 'Enter':
        if (!isInRow || row === undefined || !opensRow) return;
        openRow(row.original);
        break;
      case ' ':
        if (!isInRow || row === undefined || selection === undefined) return;
        select(index, event.shiftKey);
        break;
      default:
        return;
    }
    event.preventDefault();
  };

  const onFocus = (event: FocusEvent<HTMLElement>) => {
    const element = rowOf(event);
    const row = element === null ? undefined : tableRows[indexOf(element)];
    if (row !== undefined) setCurrentId(row.id);
  };

  const onClick = (event: MouseEvent) => {
    const element = rowOf(event);
    const row = element === null ? undefined : tableRows[indexOf(element)];
    if (row === undefined || !opensRow || event.defaultPrevented || event.button > (hrefOf === undefined ? 0 : 1)) return;
    // A click that ends a text selection does not open the row.
    if ((event.target as Element).closest('a, button, input, label, select') || String(window.getSelection()) !== '') return;
    openRow(row.original, event);
  };

  const tracks = [...(selection ? ['24px'] : []), ...shownColumns.map(({ width }) => width)].join(' ');

  return (
    <div className="table">
      <div
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-multiselectable={selection === undefined ? undefined : true}
      >
        <div role="rowgroup" className="table-top">
          <div role="row" className="table-head" aria-rowindex={1} style={{ gridTemplateColumns: tracks }}>
            {selection === undefined ? null : (
              <div role="columnheader">
                <input type="checkbox" aria-label="Select all rows" checked={allSelected} onChange={toggleAll} />
              </div>
            )}
            {shownColumns.map((column) => (
              <ColumnHeader
                key={column.id}
                column={column}
                sortOf={sortOf}
                stacked={columns.filter(
                  (candidate) =>
                    (candidate.sort ?? sortOf(candidate)?.direction) &&
                    candidate !== column &&
                    hostColumn(candidate, columns, windowWidth) === column,
                )}
              />
            ))}
          </div>
        </div>
        <InTableContext value={true}>
          <div
            role="rowgroup"
            ref={body}
            className="table-body"
            style={{ height: virtualizer.getTotalSize() }}
            onKeyDown={onKeyDown}
            onFocus={onFocus}
            onClick={onClick}
            onAuxClick={onClick}
          >
            {items.map((item) => {
              const row = tableRows[item.index];
              if (row === undefined) return null;
              return (
                <TableRow<Row>
                  key={item.key}
                  row={row.original}
                  columns={columns}
                  windowWidth={windowWidth}
                  elementId={`${tableId}-${item.index}`}
                  index={item.index}
                  top={item.start - margin}
                  tracks={tracks}
                  isSelected={selection === undefined ? null : selection.ids.has(row.id)}
                  isRemoved={removedIds?.has(row.id) ?? false}
                  isCurrent={item.index === currentIndex}
                  href={hrefOf?.(row.original)}
                  opensRow={opensRow}
                  nameOf={nameOf}
                  measure={virtualizer.measureElement}
                  onSelect={onSelect}
                />
              );
            })}
          </div>
        </InTableContext>
      </div>
      {footer === undefined ? null : <div className="table-foot">{footer}</div>}
    </div>
  );
}
