/**
 * Finds the runs that retention removes, and removes them.
 *
 * The search reads only indexes, outside the transaction that removes the runs. That transaction locks the rows and checks them
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
  unpreparedStatement,
} from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, unnest } from '../connection/row-sets.js';
import { sendGroupChanges } from '../dead-letters/dead-letter-group-writes.js';
import { TABLES_OF_RUN } from '../instance-removal/tables.js';
import { RELEASE_BYTES_OF_RUNS } from '../storage/stored-bytes.js';

/** A transaction that removes this many rows removes no further run, so that it ends after a few milliseconds. */
const ROWS_PER_REMOVAL = 1000;

const RUN_KEY = { instance_id: 'text', run_key: 'text' } as const satisfies Columns;

/**
 * Condition that no task waits for the end of run `x`. A parked task counts while its run can be resumed. The subquery is limited
 * to one row, so that the database does not turn it into a join, which would read all rows.
 */
const IS_NOT_NEEDED = `(SELECT true FROM task t WHERE t.instance_id = x.instance_id AND t.child_run_key = x.run_key AND (
    EXISTS (SELECT 1 FROM active_run a WHERE a.instance_id = t.instance_id AND a.run_key = t.run_key) OR
    EXISTS (SELECT 1 FROM dead_letter d WHERE d.instance_id = t.instance_id AND d.run_key = t.run_key)
  ) LIMIT 1) IS NULL`;

/**
 * Condition that no run needs the source `x` that it was created from. An active run does, and a failed run that can be resumed or
 * was resumed, because calls to the webhooks of `x` continue with the run that resumed it last.
 */
const IS_NOT_A_SOURCE = `(SELECT true FROM active_run b WHERE b.instance_id = x.instance_id AND b.run_key = x.became_run_key) IS NULL
  AND (SELECT true FROM ended_run b WHERE b.instance_id = x.instance_id AND b.run_key = x.became_run_key
    AND x.became_kind = 'resume' AND (b.state = 'deadLetter' OR b.became_kind = 'resume')) IS NULL`;

/** Runs or dead letters that retention can remove. In the conditions, `x` is a row, $1 the instance and $2 the state. */
interface RemovableRows {
  readonly table: string;
  /** The same rows, from a source that returns them in the order of their positions. */
  readonly orderedSource: string;
  readonly endedAt: string;
  readonly stateCondition: string;
  /** Condition that a row must meet to be removed, in addition to its age and number. */
  readonly removableCondition: string;
}

const RUNS: RemovableRows = {
  table: 'ended_run',
  // The two parts match the two indexes, so both are read in order.
  orderedSource: '(SELECT * FROM ended_run WHERE NOT message UNION ALL SELECT * FROM ended_run WHERE message)',
  endedAt: 'completed_at',
  stateCondition: 'x.state = $2',
  removableCondition: `${IS_NOT_NEEDED} AND ${IS_NOT_A_SOURCE}`,
};

const DEAD_LETTERS: RemovableRows = {
  table: 'dead_letter',
  orderedSource: 'dead_letter',
  endedAt: 'created_at',
  stateCondition: `$2::text = 'deadLetter'`,
  removableCondition: `${IS_NOT_NEEDED} AND (
    SELECT true FROM task c WHERE c.instance_id = x.instance_id AND c.run_key = x.run_key AND c.slot = ${CALLBACK_SLOT}) IS NULL`,
};

const boundaryStatement = ({ orderedSource, stateCondition }: RemovableRows): Statement =>
  unpreparedStatement(
    `SELECT x.place::text AS place FROM ${orderedSource} x
     WHERE x.instance_id = $1 AND ${stateCondition} ORDER BY x.place DESC OFFSET $3 LIMIT 1`,
  );

/** The number of rows of a run is estimated from its journal, because a run has few other rows. */
const searchStatement = ({ orderedSource, stateCondition, removableCondition }: RemovableRows, bound: string): Statement =>
  unpreparedStatement(`
  SELECT x.run_key, x.place::text AS shown_place, (
    SELECT count(*) FROM step s WHERE s.instance_id = x.instance_id AND s.run_key = x.run_key) AS steps
  FROM ${orderedSource} x WHERE x.instance_id = $1 AND ${stateCondition} AND ${bound} AND ${removableCondition}
  ORDER BY x.place LIMIT $4`);

const lockStatement = ({ table }: RemovableRows): Statement =>
  statement(`
  SELECT x.run_key FROM ${table} x WHERE x.instance_id = $1 AND x.run_key = ANY($2::text[])
  ORDER BY x.instance_id, ${table === 'dead_letter' ? 'x.dlq_id' : 'x.run_key'} FOR UPDATE`);
/** Without `IS TRUE`, the database could use an index on the state instead of the index on the runs. */
const checkStatement = ({ table, stateCondition, removableCondition }: RemovableRows): Statement =>
  statement(`
  SELECT x.run_key FROM ${table} x
  WHERE x.instance_id = $1 AND x.run_key = ANY($3::text[]) AND (${stateCondition}) IS TRUE AND ${removableCondition}`);

/** Counts the dead letters that are about to be removed, by group. */
const COUNT_GROUPED = statement(`
  SELECT d.fingerprint, d.workflow_url, count(*) AS entries FROM ${unnest(RUN_KEY)} AS u(${columnNames(RUN_KEY)})
  JOIN dead_letter d ON d.instance_id = u.instance_id AND d.run_key = u.run_key
  WHERE d.fingerprint IS NOT NULL GROUP BY 1, 2`);
/** Deletes the labels of dead letters. It is sent before the dead letters are deleted. */
const DELETE_ENTRY_LABELS = statement(`
  DELETE FROM dead_letter_label l USING ${unnest(RUN_KEY)} AS u(${columnNames(RUN_KEY)}), dead_letter d
  WHERE d.instance_id = u.instance_id AND d.run_key = u.run_key AND l.instance_id = d.instance_id AND l.dlq_id = d.dlq_id`);
const DELETIONS = TABLES_OF_RUN.map((table) =>
  statement(`
  DELETE FROM ${table} x USING ${unnest(RUN_KEY)} AS u(${columnNames(RUN_KEY)})
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

/** The oldest rows that retention by number removes: those up to `place`, which leaves `keepNewest` newer ones. */
interface Boundary {
  readonly keepNewest: number;
  readonly place: string;
}

export class Retention {
  private readonly database: Database;
  /**
   * Boundaries of the removals in progress, by instance and state. The database counts all rows that are kept to find one, so a
   * removal of many batches uses the same one. It remains valid while newer runs end. Dead letters have none, because users remove
   * newer ones as well.
   */
  private readonly boundaries = new Map<string, Boundary>();

  constructor(database: Database) {
    this.database = database;
  }

  /** Removes as many runs as one short transaction can. Returns their number. */
  async remove(query: RemovalQuery): Promise<number> {
    const { endedBefore, keepNewest, limit, state } = query;
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new RangeError(`limit must be a whole number of 1 or more, not ${limit}`);
    if (endedBefore === null && keepNewest === null) return 0;
    const source = state === 'deadLetter' ? DEAD_LETTERS : RUNS;
    const boundaryKey = `${query.instanceId} ${state}`;
    for (;;) {
      const earlierBoundary = this.boundaries.get(boundaryKey);
      const runKeys = await this.findOldest(source, query);
      if (runKeys.length === 0) {
        this.boundaries.delete(boundaryKey);
        // More runs may have ended since the boundary was found.
        if (earlierBoundary !== undefined) continue;
        return 0;
      }
      const removedCount = await this.database.transaction((session) => removeRuns(session, source, query, runKeys));
      // Zero means that another process has already removed all of these runs. There may be others.
      if (removedCount > 0) return removedCount;
    }
  }

  /** Returns the keys of the oldest removable runs, as many as one transaction removes. */
  private async findOldest(
    source: RemovableRows,
    { instanceId, state, endedBefore, keepNewest, limit }: RemovalQuery,
  ): Promise<readonly string[]> {
    const searches: Promise<readonly Row[]>[] = [];
    const search = (bound: string, value: SqlValue) =>
      searches.push(this.database.query(searchStatement(source, bound), [instanceId, state, value, limit]));
    if (endedBefore !== null) search(`x.${source.endedAt} < $3::bigint`, endedBefore);
    if (keepNewest !== null) {
      const place = await this.boundaryOf(source, { instanceId, state, keepNewest });
      if (place !== null) search('x.place <= $3::bigint', place);
    }
    const candidatesByKey = new Map<string, Candidate>();
    for (const foundRows of await Promise.all(searches))
      for (const row of foundRows) candidatesByKey.set(text(row, 'run_key'), candidateOf(row));
    const candidates = [...candidatesByKey.values()].sort((a, b) => (a.place < b.place ? -1 : 1)).slice(0, limit);
    let rowCount = 0;
    const endIndex = candidates.findIndex(({ steps }) => {
      if (rowCount >= ROWS_PER_REMOVAL) return true;
      rowCount += steps + TABLES_OF_RUN.length;
      return false;
    });
    return candidates.slice(0, endIndex === -1 ? limit : endIndex).map(({ runKey }) => runKey);
  }

  /** Returns the place of the newest row to remove; null if there are not more than `keepNewest` rows. */
  private async boundaryOf(
    source: RemovableRows,
    { instanceId, state, keepNewest }: Pick<RemovalQuery, 'instanceId' | 'state'> & { readonly keepNewest: number },
  ): Promise<string | null> {
    const key = `${instanceId} ${state}`;
    const known = this.boundaries.get(key);
    if (known?.keepNewest === keepNewest) return known.place;
    this.boundaries.delete(key);
    const [row] = await this.database.query(boundaryStatement(source), [instanceId, state, keepNewest]);
    if (!row) return null;
    const place = text(row, 'place');
    if (source === RUNS) this.boundaries.set(key, { keepNewest, place });
    return place;
  }
}

async function removeRuns(
  session: TransactionSession,
  source: RemovableRows,
  { instanceId, state }: RemovalQuery,
  runKeys: readonly string[],
): Promise<number> {
  const [, removableRows] = await Promise.all([
    session.query(lockStatement(source), [instanceId, runKeys]),
    session.query(checkStatement(source), [instanceId, state, runKeys]),
  ]);
  const removableKeys = removableRows.map((row) => text(row, 'run_key'));
  if (removableKeys.length === 0) return 0;
  const keyColumns = columnArrays(
    RUN_KEY,
    removableKeys.map((run_key) => ({ instance_id: instanceId, run_key })),
  );
  const changes = new GroupChanges();
  if (state === 'deadLetter') {
    for (const row of await session.query(COUNT_GROUPED, keyColumns)) {
      const entryGroup = { fingerprint: text(row, 'fingerprint'), workflowUrl: text(row, 'workflow_url') };
      for (let n = integer(row, 'entries'); n > 0; n--) changes.removeEntry(instanceId, entryGroup, null);
    }
  }
  session.send(RELEASE_BYTES_OF_RUNS, keyColumns);
  session.send(DELETE_ENTRY_LABELS, keyColumns);
  for (const deletion of DELETIONS) session.send(deletion, keyColumns);
  session.send(DELETE_FROM_DIRECTORY, [removableKeys, instanceId]);
  sendGroupChanges(session, changes);
  return removableKeys.length;
}
