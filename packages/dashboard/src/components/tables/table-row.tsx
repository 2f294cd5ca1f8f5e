// biome-ignore-all lint/a11y/useSemanticElements: virtualized rows are positioned absolutely, which table rows do not support
// biome-ignore-all lint/a11y/useFocusableInteractive: in this grid rows receive focus instead of their cells
/**
 * One row of a table. Scrolling renders the table on every frame, so a row renders only when its props change and its cells only
 * when its data changes. Event handlers are on the table, not on each row.
 */
import { memo, type ReactNode, useReducer } from 'react';
import type { WindowWidth } from '../times/window-width.js';
import { RowLink } from './row-link.js';

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Width of the CSS grid track, such as `120px` or `minmax(0, 2fr)`. */
  readonly width: string;
  readonly align?: 'left' | 'right';
  /** Minimum window width at which the column is shown. */
  readonly shownFrom?: 'medium' | 'wide' | 'full';
  /**
   * Id of the column whose cell also shows this cell when this column is hidden. Without `shownFrom`, it is hidden in narrow
   * windows. If both columns are hidden, the column that this other column is stacked under shows both cells.
   */
  readonly stackUnder?: string;
  /** Whether the cell is below the other cell in wide windows too, instead of beside it. */
  readonly stackBelow?: boolean;
  /** Prefix of the cell when it is stacked, such as `until`. */
  readonly stackPrefix?: string;
  /** Present if the list has the order of this column. `direction` is null while another column sorts the rows. */
  readonly sort?: { readonly direction: 'ascending' | 'descending' | null; readonly onToggle: () => void };
  /** Value by which the rows can be sorted once all of them are loaded; null is last. */
  readonly sortBy?: (row: Row) => string | number | null;
  /** Whether the cell is the link of a row with an address. Such a cell contains no other links or buttons. */
  readonly isLink?: boolean;
}

const WIDTH_ORDER = { narrow: 0, medium: 1, wide: 2, full: 3 } as const;
export const isColumnShown = <Row,>({ shownFrom, stackUnder }: Column<Row>, windowWidth: WindowWidth): boolean =>
  WIDTH_ORDER[windowWidth] >= WIDTH_ORDER[shownFrom ?? (stackUnder === undefined ? 'narrow' : 'medium')];

/** Returns the column that shows the cells of a column: itself, or the one that they are stacked under; undefined if none does. */
export function hostColumn<Row>(
  column: Column<Row>,
  columns: readonly Column<Row>[],
  windowWidth: WindowWidth,
): Column<Row> | undefined {
  if (isColumnShown(column, windowWidth)) return column;
  const under = columns.find(({ id }) => id === column.stackUnder);
  return under === undefined ? undefined : hostColumn(under, columns, windowWidth);
}

interface CellsProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly windowWidth: WindowWidth;
  /** Address that the row leads to. */
  readonly href?: string | undefined;
}

function PlainCells<Row>({ row, columns, windowWidth, href }: CellsProps<Row>): ReactNode {
  return columns.map((column) => {
    if (!isColumnShown(column, windowWidth)) return null;
    const stacked = columns.filter((candidate) => candidate !== column && hostColumn(candidate, columns, windowWidth) === column);
    const isBeside = windowWidth === 'wide' && stacked.some(({ stackBelow }) => stackBelow !== true);
    const cell = column.cell(row);
    return (
      <div
        key={column.id}
        role="gridcell"
        className="table-cell"
        data-align={column.align}
        data-beside={isBeside ? '' : undefined}
      >
        {href !== undefined && column.isLink === true ? <RowLink href={href}>{cell}</RowLink> : cell}
        <StackedCells stacked={stacked} row={row} />
      </div>
    );
  });
}
const Cells = memo(PlainCells) as typeof PlainCells;

/** Cells of hidden columns, shown below or beside the cell of another column. */
function StackedCells<Row>({ stacked, row }: { readonly stacked: readonly Column<Row>[]; readonly row: Row }) {
  if (stacked.length === 0) return null;
  return (
    <div className="cell-stacked">
      {stacked.map(({ id, cell, stackPrefix }) => (
        <div key={id}>
          {stackPrefix === undefined ? null : `${stackPrefix} `}
          {cell(row)}
        </div>
      ))}
    </div>
  );
}

export interface TableRowProps<Row> extends CellsProps<Row> {
  readonly elementId: string;
  /** Index in the table, from 0. */
  readonly index: number;
  /** Offset from the top of the table body, px. */
  readonly top: number;
  /** Value of `grid-template-columns`. */
  readonly tracks: string;
  /** Whether the row is selected; null if rows cannot be selected. */
  readonly isSelected: boolean | null;
  /** Whether the row was removed from the list and is only still shown. */
  readonly isRemoved: boolean;
  /** Whether the row has the focus or gets it next. */
  readonly isCurrent: boolean;
  /** Whether a click opens the row. */
  readonly opensRow: boolean;
  readonly nameOf: (row: Row) => string;
  readonly measure: (element: Element | null) => void;
  /** Called when the checkbox is toggled. */
  readonly onSelect: (index: number, isRange: boolean) => void;
}

function PlainTableRow<Row>(props: TableRowProps<Row>): ReactNode {
  const {
    row,
    columns,
    windowWidth,
    elementId,
    index,
    top,
    tracks,
    isSelected,
    isRemoved,
    isCurrent,
    opensRow,
    nameOf,
    measure,
    onSelect,
  } = props;
  const { href } = props;
  const [, renderAgain] = useReducer((count: number) => count + 1, 0);
  return (
    <div
      id={elementId}
      role="row"
      ref={measure}
      data-index={index}
      data-opens={opensRow ? '' : undefined}
      data-removed={isRemoved ? '' : undefined}
      className="table-row"
      aria-rowindex={index + 2}
      aria-selected={isSelected ?? undefined}
      tabIndex={isCurrent ? 0 : -1}
      style={{ gridTemplateColumns: tracks, transform: `translateY(${top}px)` }}
    >
      {isSelected === null ? null : (
        <div role="gridcell" className="table-cell">
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select ${nameOf(row)}`}
            checked={isSelected}
            onClick={({ shiftKey }) => {
              onSelect(index, shiftKey);
              // The browser has toggled the box, but a range may leave this row unchanged.
              renderAgain();
            }}
          />
        </div>
      )}
      {isRemoved ? (
        <div role="gridcell" className="visually-hidden">
          Removed
        </div>
      ) : null}
      <Cells row={row} columns={columns} windowWidth={windowWidth} href={href} />
    </div>
  );
}
export const TableRow = memo(PlainTableRow) as typeof PlainTableRow;
