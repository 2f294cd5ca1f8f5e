/** A list that arrives in one response. New rows are counted and removed rows stay crossed out, so that the list does not move. */
import { useState } from 'react';
import { useInstanceId } from './instances.js';
import type { Topic } from './live-changes.js';
import { lastOwnChange } from './own-changes.js';
import { stableRows } from './stable-rows.js';

export interface CompleteListSource<Row> {
  /** Topic of the live hints that refresh this list. */
  readonly topic: Topic;
  /** Rows of the last response; undefined before the first. */
  readonly rows: readonly Row[] | undefined;
  /** When the rows were loaded, Unix ms. */
  readonly readAt: number;
  readonly idOf: (row: Row) => string;
  /** Filter; all rows match without it. */
  readonly matches?: (row: Row) => boolean;
}

export interface CompleteList<Row> {
  readonly rows: readonly Row[];
  /** Number of new rows that are not shown yet; `showNew` inserts them and drops the rows that are gone. */
  readonly newCount: number;
  /** Whether there may be more new rows than `newCount`; false for a list that arrives in one response. */
  readonly hasMoreNew: boolean;
  readonly removedIds: ReadonlySet<string>;
  readonly showNew: () => void;
}

export function useCompleteList<Row>({
  topic,
  rows,
  readAt,
  idOf,
  matches = () => true,
}: CompleteListSource<Row>): CompleteList<Row> {
  const changedAt = lastOwnChange(useInstanceId(), topic);
  const [snapshot, setSnapshot] = useState({ rows, readAt });
  // An empty list cannot move, and the user expects to see the effect of their own change immediately.
  const isEmpty = snapshot.rows === undefined || snapshot.rows.length === 0;
  const current =
    rows !== snapshot.rows && (isEmpty || (changedAt >= snapshot.readAt && readAt >= changedAt)) ? { rows, readAt } : snapshot;
  if (current !== snapshot) setSnapshot(current);
  const freshRows = rows?.filter(matches) ?? [];
  const shownRows = current.rows?.filter(matches) ?? [];
  return {
    ...stableRows(shownRows.length === 0 ? freshRows : shownRows, freshRows, idOf, true),
    showNew: () => setSnapshot({ rows, readAt }),
  };
}
