/** A listing of the service as a table: what is new, what is gone, what is still to come, and why there is nothing. */
import { type ReactNode, useEffect } from 'react';
import type { CursorList } from '../api/lists.js';
import type { WholeList } from '../api/whole-list.js';
import { DataTable, type DataTableProps } from './data-table.js';
import { DeedButton } from './deed-button.js';
import { countText, oneOf, quantity } from './formats.js';
import { NewBar } from './new-bar.js';
import { ErrorState, FailureNotice, Skeleton } from './states.js';
import { TimeText } from './time-text.js';

export interface ListTableProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'gone' | 'onEnd' | 'foot'> {
  readonly list: CursorList<Row>;
  /** What the rows are: `runs`. */
  readonly what: string;
  /** Shown where the list is empty. */
  readonly empty: ReactNode;
}

/** A search that has found nothing so far, and has more to look at: it goes on by itself. */
function Looking<Row>({ list, what }: { readonly list: CursorList<Row>; readonly what: string }) {
  const { loadMore, isLoadingMore, moreFailure, lookedBackTo } = list;
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each page the next one
  useEffect(() => {
    if (!isLoadingMore && moreFailure === null) loadMore();
  }, [isLoadingMore, moreFailure, lookedBackTo]);
  if (moreFailure !== null) return <ErrorState failure={moreFailure} onRetry={loadMore} what={`More ${what}`} />;
  return (
    <div className="table">
      <div className="state" role="status">
        <p className="state-title">Nothing found yet</p>
        <p>
          Looking at older {what}
          {lookedBackTo === null ? null : (
            <>
              {' '}
              than <TimeText unixMs={lookedBackTo} style="exact" />
            </>
          )}{' '}
          …
        </p>
      </div>
    </div>
  );
}

/** What left the list stays where it was until somebody has it left out. */
function Gone({ list: { gone, showNew } }: { readonly list: Pick<WholeList<unknown>, 'gone' | 'showNew'> }) {
  if (gone.size === 0) return null;
  return (
    <span className="line">
      <span>What is crossed out is gone.</span>
      <button type="button" className="button button-small" onClick={showNew}>
        Leave out what is gone
      </button>
    </span>
  );
}

export interface WholeTableProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'gone' | 'foot'> {
  readonly list: WholeList<Row>;
  /** What the rows are: `queues`. */
  readonly what: string;
  /** Said behind how many are shown. */
  readonly shownAside?: ReactNode;
  /** What else stands below the rows. */
  readonly footEnd?: ReactNode;
}

/** A list that came in one answer, as a table. */
export function WholeTable<Row>({ list, what, shownAside, footEnd, ...table }: WholeTableProps<Row>) {
  return (
    <>
      <NewBar count={list.newCount} what={what} onShow={list.showNew} />
      <DataTable
        {...table}
        rows={list.rows}
        gone={list.gone}
        foot={
          <>
            <span>
              {quantity(list.rows.length, oneOf(what), what)} shown
              {shownAside}
            </span>
            <Gone list={list} />
            {footEnd}
          </>
        }
      />
    </>
  );
}

/** A listing of the service as a table, with everything that can be the matter with it. */
export function ListTable<Row>({ list, what, empty, ...table }: ListTableProps<Row>) {
  if (list.isPending)
    return (
      <div className="table">
        <div className="card-body">
          <Skeleton lines={8} />
        </div>
      </div>
    );
  if (list.failure !== null) return <ErrorState failure={list.failure} onRetry={list.retry} what={`The ${what}`} />;
  if (list.rows.length === 0 && list.hasMore) return <Looking list={list} what={what} />;
  if (list.rows.length === 0) return <div className="table">{empty}</div>;
  return (
    <WholeTable
      {...table}
      list={list}
      what={what}
      {...(list.moreFailure === null ? { onEnd: list.loadMore } : {})}
      shownAside={
        list.lookedBackTo === null || !list.hasMore ? null : (
          <>
            ; looked back to <TimeText unixMs={list.lookedBackTo} />
          </>
        )
      }
      footEnd={
        <>
          {list.behind === null ? null : (
            <span className="line">
              <span>
                Only the first {countText(list.behind.after)} are kept up to date; the others are as they were{' '}
                <TimeText unixMs={list.behind.since} style="relative" />.
              </span>
              <DeedButton small off={undefined} busy={list.isBringingUpToDate} onClick={list.bringUpToDate}>
                {list.isBringingUpToDate ? 'One moment …' : 'Bring up to date'}
              </DeedButton>
            </span>
          )}
          {list.moreFailure === null ? null : <FailureNotice failure={list.moreFailure} />}
          {list.hasMore ? (
            <button type="button" className="button button-small" onClick={list.loadMore} disabled={list.isLoadingMore}>
              {list.isLoadingMore ? 'Loading …' : 'Load more'}
            </button>
          ) : (
            <span>That is all.</span>
          )}
        </>
      }
    />
  );
}
