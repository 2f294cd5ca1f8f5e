/** A list that comes in one answer. Rows that others add are held back and counted, and what leaves stays crossed out: nothing jumps. */
import { useState } from 'react';
import { useQueueId } from './instances.js';
import type { Topic } from './live.js';
import { lastOwnChange } from './own-changes.js';
import { steady } from './steady.js';

export interface WholeListSource<Row> {
  /** What its changes are told as. */
  readonly topic: Topic;
  /** As they were read last; undefined before that. */
  readonly rows: readonly Row[] | undefined;
  /** When they were read, Unix ms. */
  readonly readAt: number;
  readonly idOf: (row: Row) => string;
  /** Which of them are looked for; all without it. */
  readonly matches?: (row: Row) => boolean;
}

export interface WholeList<Row> {
  readonly rows: readonly Row[];
  /** How many came since; `showNew` brings them in, and leaves out what is gone. */
  readonly newCount: number;
  readonly gone: ReadonlySet<string>;
  readonly showNew: () => void;
}

export function useWholeList<Row>({ topic, rows, readAt, idOf, matches = () => true }: WholeListSource<Row>): WholeList<Row> {
  const own = lastOwnChange(useQueueId(), topic);
  const [taken, setTaken] = useState({ rows, readAt });
  // Where nothing is shown nothing can jump; and what the user did here is what the user waits for.
  const first = taken.rows === undefined || taken.rows.length === 0;
  const current = rows !== taken.rows && (first || (own >= taken.readAt && readAt >= own)) ? { rows, readAt } : taken;
  if (current !== taken) setTaken(current);
  const fresh = rows?.filter(matches) ?? [];
  const known = current.rows?.filter(matches) ?? [];
  return {
    ...steady(known.length === 0 ? fresh : known, fresh, idOf, true),
    showNew: () => setTaken({ rows, readAt }),
  };
}
