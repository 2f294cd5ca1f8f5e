/** A list that arrives in one response, with its loading, error and empty states. */
import type { ReactNode } from 'react';
import type { ApiFailure } from '../../api/outcome.js';
import { ErrorState, Skeleton } from '../states.js';
import { CompleteTable, type CompleteTableProps } from './list-table.js';

export interface CompleteListViewProps<Row> extends CompleteTableProps<Row> {
  /** The query that loads the list, as `useApi` returns it. */
  readonly query: {
    readonly data: unknown;
    readonly error: ApiFailure | null;
    readonly refetch: () => unknown;
  };
  /** Shown if the list is empty. */
  readonly empty: ReactNode;
}

const SKELETON_LINES = 6;

export function CompleteListView<Row>({ query: { data, error, refetch }, empty, ...table }: CompleteListViewProps<Row>) {
  if (data === undefined)
    return error === null ? (
      <Skeleton lines={SKELETON_LINES} />
    ) : (
      <ErrorState failure={error} onRetry={() => void refetch()} subject={table.rowsName} />
    );
  if (table.list.rows.length === 0) return <div className="table">{empty}</div>;
  return <CompleteTable {...table} />;
}
