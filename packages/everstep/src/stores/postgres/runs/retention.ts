/**
 * Finds the runs that retention removes, and removes them.
 *
 * The search reads only indexes, outside of the transaction that removes. That transaction locks the rows and checks them
 * again, because another process may have changed them.
 */
import { GroupChanges } from '../../../engine/dead-letters/dead-letter-groups.js';
import { CALLBACK_SLOT } from '../../../engine/runs/run.js';
import type { RemovalQuery } from '../../../ports/stores/store.js';
import { integer, type Row, text } from '../connection/columns.js';
import {
  type Database,
  type SqlValue,
  type Statement,
  statement,
  type TransactionSession,
  unprepared,
} from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, unnest } from '../connection/row-sets.js';
import { sendGroupChanges } from '../dead-letters/dead-letter-group-writes.js';
import { TABLES_OF_RUN } from '../instance-removal/tables.js';
import { RELEASE_BYTES_OF_RUNS } from '../storage/stored-bytes.js';

/** Rows after which a transaction takes no further run, so that it takes a few ms. */
const ROWS_PER_REMOVAL = 1000;

const KEY = { instance_id: 'text', run_key: 'text' } as const satisfies Columns;

/**
 * Conditions on a row `x`. A parked task counts while its run can be resumed. They are subqueries for one row each: the
 * database must not turn them into joins, which would read all rows.
 */
const NOT_NEEDED = `(SELECT true FROM task t WHERE t.instance_id = x.instance_id AND t.child_run_key = x.run_key AND (
    EXISTS (SELECT 1 FROM active_run a WHERE a.instance_id = t.instance_id AND a.run_key = t.run_key) OR
    EXISTS (SELECT 1 FROM dead_letter d WHERE d.instance_id = t.instance_id AND d.run_key = t.run_key)
  ) LIMIT 1) IS NULL`;

/** The rows of one state: runs or dead letters. `x` is a row, $1 the instance, $2 the state. */
interface RemovableRows {
  readonly table: string;
  /** The same rows, in a form that can be read in the order of their positions. */
  readonly ordered: string;
  readonly endedAt: string;
  readonly ofState: string;
  /** Condition for a removable row, in addition to its age and number. */
  readonly removable: string;
}

const RUNS: RemovableRows = {
  table: 'ended_run',
  // The order is that of both indexes.
  ordered: '(SELECT * FROM ended_run WHERE NOT message UNION ALL SELECT * FROM ended_run WHERE message)',
  endedAt: 'completed_at',
  ofState: 'x.state = $2',
  removable: `${NOT_NEEDED} AND (
    SELECT true FROM active_run b WHERE b.instance_id = x.instance_id AND b.run_key = x.became_run_key) IS NULL`,
};

const ENTRIES: RemovableRows = {
  table: 'dead_letter',
  ordered: 'dead_letter',
  endedAt: 'created_at',
  ofState: `$2::text = 'deadLetter'`,
  removable: `${NOT_NEEDED} AND (
    SELECT true FROM task c WHERE c.instance_id = x.instance_id AND c.run_key = x.run_key AND c.slot = ${CALLBACK_SLOT}) IS NULL`,
};

const keptBoundary = ({ ordered, ofState }: RemovableRows): Statement =>
  unprepared(
    `SELECT x.place::text AS place FROM ${ordered} x WHERE x.instance_id = $1 AND ${ofState} ORDER BY x.place DESC OFFSET $3 LIMIT 1`,
  );

/** The number of rows of a run is estimated from its journal, because a run has few other rows. */
const searchStatement = ({ ordered, ofState, removable }: RemovableRows, bound: string): Statement =>
  unprepared(`
  SELECT x.run_key, x.place::text AS shown_place, (
    SELECT count(*) FROM step s WHERE s.instance_id = x.instance_id AND s.run_key = x.run_key) AS steps
  FROM ${ordered} x WHERE x.instance_id = $1 AND ${ofState} AND ${bound} AND ${removable} ORDER BY x.place LIMIT $4`);

const lock = ({ table }: RemovableRows): Statement =>
  statement(`
  SELECT x.run_key FROM ${table} x WHERE x.instance_id = $1 AND x.run_key = ANY($2::text[])
  ORDER BY x.instance_id, ${table === 'dead_letter' ? 'x.dlq_id' : 'x.run_key'} FOR UPDATE`);
/** `IS TRUE` prevents the server from using an index on the state instead of on the runs. */
const check = ({ table, ofState, removable }: RemovableRows): Statement =>
  statement(`
  SELECT x.run_key FROM ${table} x
  WHERE x.instance_id = $1 AND x.run_key = ANY($3::text[]) AND (${ofState}) IS TRUE AND ${removable}`);

/** Counts the entries that are about to be removed, by group. */
const COUNT_GROUPED = statement(`
  SELECT d.fingerprint, d.workflow_url, count(*) AS entries FROM ${unnest(KEY)} AS u(${columnNames(KEY)})
  JOIN dead_letter d ON d.instance_id = u.instance_id AND d.run_key = u.run_key
  WHERE d.fingerprint IS NOT NULL GROUP BY 1, 2`);
/** Statements that remove the rows of a run. Labels of its entry are removed before the entry. */
const DELETE_ENTRY_LABELS = statement(`
  DELETE FROM dead_letter_label l USING ${unnest(KEY)} AS u(${columnNames(KEY)}), dead_letter d
  WHERE d.instance_id = u.instance_id AND d.run_key = u.run_key AND l.instance_id = d.instance_id AND l.dlq_id = d.dlq_id`);
const DELETIONS = TABLES_OF_RUN.map((table) =>
  statement(`
  DELETE FROM ${table} x USING ${unnest(KEY)} AS u(${columnNames(KEY)})
  WHERE x.instance_id = u.instance_id AND x.run_key = u.run_key`),
);
const DELETE_FROM_DIRECTORY = statement('DELETE FROM run_directory WHERE run_key = ANY($1::text[]) AND instance_id = $2');

interface Candidate {
  readonly runKey: string;
  readonly place: bigint;
  readonly steps: number;
}

const candidateOf = (row: Row): Candidate => ({
  runKey: text(row, 'run_key'),
  place: BigInt(text(row, 'shown_place')),
  steps: integer(row, 'steps'),
});

export class Retention {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** Removes as many runs as one short transaction can; returns their number. */
  async remove(query: RemovalQuery): Promise<number> {
    const { endedBefore, keepNewest, limit, state } = query;
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new RangeError(`limit must be a whole number of 1 or more, not ${limit}`);
    if (endedBefore === null && keepNewest === null) return 0;
    const rows = state === 'deadLetter' ? ENTRIES : RUNS;
    for (;;) {
      const runKeys = await this.find(rows, query);
      if (runKeys.length === 0) return 0;
      const removed = await this.database.transaction((session) => removeRuns(session, rows, query, runKeys));
      // Zero means that another process has already removed all of these runs. There may be others.
      if (removed > 0) return removed;
    }
  }

  /** Returns the oldest runs, as many as one transaction takes. */
  private async find(
    rows: RemovableRows,
    { instanceId, state, endedBefore, keepNewest, limit }: RemovalQuery,
  ): Promise<readonly string[]> {
    const searches: Promise<readonly Row[]>[] = [];
    const search = (bound: string, value: SqlValue) =>
      searches.push(this.database.query(searchStatement(rows, bound), [instanceId, state, value, limit]));
    if (endedBefore !== null) search(`x.${rows.endedAt} < $3::bigint`, endedBefore);
    if (keepNewest !== null) {
      const [boundary] = await this.database.query(keptBoundary(rows), [instanceId, state, keepNewest]);
      if (boundary) search('x.place <= $3::bigint', text(boundary, 'place'));
    }
    const byKey = new Map<string, Candidate>();
    for (const foundRows of await Promise.all(searches))
      for (const row of foundRows) byKey.set(text(row, 'run_key'), candidateOf(row));
    const oldestFirst = [...byKey.values()].sort((a, b) => (a.place < b.place ? -1 : 1)).slice(0, limit);
    let rowCount = 0;
    const end = oldestFirst.findIndex(({ steps }) => {
      if (rowCount >= ROWS_PER_REMOVAL) return true;
      rowCount += steps + TABLES_OF_RUN.length;
      return false;
    });
    return oldestFirst.slice(0, end === -1 ? limit : end).map(({ runKey }) => runKey);
  }
}

async function removeRuns(
  session: TransactionSession,
  rows: RemovableRows,
  { instanceId, state }: RemovalQuery,
  runKeys: readonly string[],
): Promise<number> {
  const [, checked] = await Promise.all([
    session.query(lock(rows), [instanceId, runKeys]),
    session.query(check(rows), [instanceId, state, runKeys]),
  ]);
  const keys = checked.map((row) => text(row, 'run_key'));
  if (keys.length === 0) return 0;
  const values = columnArrays(
    KEY,
    keys.map((run_key) => ({ instance_id: instanceId, run_key })),
  );
  const changes = new GroupChanges();
  if (state === 'deadLetter') {
    for (const row of await session.query(COUNT_GROUPED, values)) {
      const entryGroup = { fingerprint: text(row, 'fingerprint'), workflowUrl: text(row, 'workflow_url') };
      for (let n = integer(row, 'entries'); n > 0; n--) changes.entryRemoved(instanceId, entryGroup, null);
    }
  }
  session.send(RELEASE_BYTES_OF_RUNS, values);
  session.send(DELETE_ENTRY_LABELS, values);
  for (const deletion of DELETIONS) session.send(deletion, values);
  session.send(DELETE_FROM_DIRECTORY, [keys, instanceId]);
  sendGroupChanges(session, changes);
  return keys.length;
}
