/** Tables of live lists, with new rows, removed rows, loading of more rows, and empty and error states. */
import { type ReactNode, useEffect } from 'react';
import type { CompleteList } from '../../api/complete-list.js';
import type { CursorList } from '../../api/lists.js';
import { ActionButton } from '../action-button.js';
import { ErrorState, FailureNotice, Skeleton } from '../states.js';
import { countText, quantity, singularOf } from '../times/formats.js';
import { TimeText } from '../times/time-text.js';
import { DataTable, type DataTableProps } from './data-table.js';
import { NewRowsBar } from './new-rows-bar.js';

export interface ListTableProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'removedIds' | 'onEnd' | 'footer'> {
  readonly list: CursorList<Row>;
  /** Plural name of the rows, such as `runs`. */
  readonly rowsName: string;
  /** Shown if the list is empty. */
  readonly empty: ReactNode;
}

/** Progress of a search without matches so far. It continues with older rows automatically. */
function SearchProgress<Row>({ list, rowsName }: { readonly list: CursorList<Row>; readonly rowsName: string }) {
  const { loadMore, isLoadingMore, moreFailure, searchedBackTo } = list;
  // biome-ignore lint/correctness/useExhaustiveDependencies: load the next page after each page
  useEffect(() => {
    if (!isLoadingMore && moreFailure === null) loadMore();
  }, [isLoadingMore, moreFailure, searchedBackTo]);
  if (moreFailure !== null) return <ErrorState failure={moreFailure} onRetry={loadMore} subject={`more ${rowsName}`} />;
  return (
    <div className="table">
      <div className="state" role="status">
        <p className="state-title">No matches yet</p>
        <p>
          Searching {rowsName}
          {searchedBackTo === null ? null : (
            <>
              , now at <TimeText unixMs={searchedBackTo} style="exact" />
            </>
          )}
          …
        </p>
      </div>
    </div>
  );
}

/** Note about removed rows, which stay in place until the user hides them. */
function RemovedRowsNote({
  list: { removedIds, showNew },
}: {
  readonly list: Pick<CompleteList<unknown>, 'removedIds' | 'showNew'>;
}) {
  if (removedIds.size === 0) return null;
  return (
    <span className="line">
      <span>Crossed-out rows are no longer in this list.</span>
      <button type="button" className="button button-small" onClick={showNew}>
        Hide removed rows
      </button>
    </span>
  );
}

export interface CompleteTableProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'removedIds' | 'footer'> {
  readonly list: CompleteList<Row>;
  /** Plural name of the rows, such as `queues`. */
  readonly rowsName: string;
  /** Shown after the number of rows. */
  readonly countNote?: ReactNode;
  /** Shown at the end of the table footer. */
  readonly footerEnd?: ReactNode;
}

/** Table of a list that arrives in one response. */
export function CompleteTable<Row>({ list, rowsName, countNote, footerEnd, ...table }: CompleteTableProps<Row>) {
  return (
    <>
      <NewRowsBar count={list.newCount} hasMore={list.hasMoreNew} rowsName={rowsName} onShow={list.showNew} />
      <DataTable
        {...table}
        rows={list.rows}
        removedIds={list.removedIds}
        footer={
          <>
            <span>
              {quantity(list.rows.length, singularOf(rowsName), rowsName)} shown
              {countNote}
            </span>
            <RemovedRowsNote list={list} />
            {footerEnd}
          </>
        }
      />
    </>
  );
}

/** Table of a list with cursors, including its loading, empty and error states. */
export function ListTable<Row>({ list, rowsName, empty, ...table }: ListTableProps<Row>) {
  if (list.isPending)
    return (
      <div className="table">
        <div className="card-body">
          <Skeleton lines={8} />
        </div>
      </div>
    );
  if (list.failure !== null) return <ErrorState failure={list.failure} onRetry={list.retry} subject={rowsName} />;
  if (list.rows.length === 0 && list.hasMore) return <SearchProgress list={list} rowsName={rowsName} />;
  if (list.rows.length === 0) return <div className="table">{empty}</div>;
  return (
    <CompleteTable
      {...table}
      list={list}
      rowsName={rowsName}
      hasAllRows={!list.hasMore}
      {...(list.moreFailure === null ? { onEnd: list.loadMore } : {})}
      countNote={
        list.searchedBackTo === null || !list.hasMore ? null : (
          <>
            ; searched back to <TimeText unixMs={list.searchedBackTo} />
          </>
        )
      }
      footerEnd={
        <>
          {list.stale === null ? null : (
            <span className="line">
              <span>
                Only the first {countText(list.stale.freshCount)} update automatically. The others were loaded{' '}
                <TimeText unixMs={list.stale.loadedAt} style="relative" />.
              </span>
              <ActionButton small disabledReason={undefined} busy={list.isRefreshing} onClick={list.refreshAll}>
                {list.isRefreshing ? 'Refreshing…' : 'Refresh'}
              </ActionButton>
            </span>
          )}
          {list.moreFailure === null ? null : <FailureNotice failure={list.moreFailure} />}
          {list.hasMore ? (
            <button type="button" className="button button-small" onClick={list.loadMore} disabled={list.isLoadingMore}>
              {list.isLoadingMore ? 'Loading…' : 'Load more'}
            </button>
          ) : (
            <span>End of list</span>
          )}
        </>
      }
    />
  );
}
