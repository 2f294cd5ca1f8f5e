// biome-ignore-all lint/a11y/useSemanticElements: rows are placed one by one, which those of a table element cannot be
// biome-ignore-all lint/a11y/useFocusableInteractive: in this grid rows have the focus, their cells have none
/**
 * One row of a table. Scrolling renders the table with each frame, so a row is made again only when something of its own has
 * changed, and its cells only when its data has: what happens to rows is heard by the table, not by each of them.
 */
import { memo, type ReactNode } from 'react';
import type { Room } from './media.js';

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Track of a CSS grid, such as `120px` or `minmax(0, 2fr)`. */
  readonly width: string;
  readonly align?: 'left' | 'right';
  /** The least room in which the column is shown. */
  readonly from?: 'medium' | 'wide';
  /** Id of the column below whose text it stands where there is no room for it: of those without `from` in a narrow window. */
  readonly under?: string;
  /** Stands before it there: `until`. */
  readonly underAs?: string;
}

const ROOMS = { narrow: 0, medium: 1, wide: 2 } as const;
export const hasRoom = <Row,>({ from, under }: Column<Row>, room: Room): boolean =>
  ROOMS[room] >= ROOMS[from ?? (under === undefined ? 'narrow' : 'medium')];

interface CellsProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly room: Room;
}

function CellsOf<Row>({ row, columns, room }: CellsProps<Row>): ReactNode {
  return columns.map((column) =>
    hasRoom(column, room) ? (
      <div key={column.id} role="gridcell" className="table-cell" data-align={column.align}>
        {column.cell(row)}
        <Under columns={columns} of={column.id} room={room} row={row} />
      </div>
    ) : null,
  );
}
const Cells = memo(CellsOf) as typeof CellsOf;

/** What has no column of its own where there is little room. */
function Under<Row>({ columns, of, room, row }: CellsProps<Row> & { readonly of: string }) {
  const under = columns.filter((column) => column.under === of && !hasRoom(column, room));
  if (under.length === 0) return null;
  return (
    <div className="cell-under">
      {under.map(({ id, cell, underAs }) => (
        <div key={id}>
          {underAs === undefined ? null : `${underAs} `}
          {cell(row)}
        </div>
      ))}
    </div>
  );
}

export interface TableRowProps<Row> extends CellsProps<Row> {
  readonly elementId: string;
  /** In the table, from 0. */
  readonly index: number;
  /** Where it begins in the body of the table, px. */
  readonly top: number;
  /** Tracks of the grid. */
  readonly tracks: string;
  /** null where rows cannot be chosen. */
  readonly chosen: boolean | null;
  readonly gone: boolean;
  /** It has the focus, or is where the focus comes to. */
  readonly current: boolean;
  readonly opens: boolean;
  readonly nameOf: (row: Row) => string;
  readonly measure: (element: Element | null) => void;
  /** Its box was ticked or unticked. */
  readonly onChoose: (index: number, toHere: boolean) => void;
}

function TableRowOf<Row>(props: TableRowProps<Row>): ReactNode {
  const { row, columns, room, elementId, index, top, tracks, chosen, gone, current, opens, nameOf, measure, onChoose } = props;
  return (
    <div
      id={elementId}
      role="row"
      ref={measure}
      data-index={index}
      data-opens={opens ? '' : undefined}
      data-gone={gone ? '' : undefined}
      className="table-row"
      aria-rowindex={index + 2}
      aria-selected={chosen ?? undefined}
      tabIndex={current ? 0 : -1}
      style={{ gridTemplateColumns: tracks, transform: `translateY(${top}px)` }}
    >
      {chosen === null ? null : (
        <div role="gridcell" className="table-cell">
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Choose ${nameOf(row)}`}
            checked={chosen}
            onChange={({ nativeEvent }) => onChoose(index, 'shiftKey' in nativeEvent && nativeEvent.shiftKey === true)}
          />
        </div>
      )}
      {gone ? (
        <div role="gridcell" className="visually-hidden">
          It is gone.
        </div>
      ) : null}
      <Cells row={row} columns={columns} room={room} />
    </div>
  );
}
export const TableRow = memo(TableRowOf) as typeof TableRowOf;
