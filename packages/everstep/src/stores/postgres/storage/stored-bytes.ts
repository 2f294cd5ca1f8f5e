/**
 * Stored bytes and active runs of each instance. A batch adds one row for each instance; copied, replaced and deleted data is
 * counted by the statements that change it. Each connection adds to its own rows, as for usage, and their sum is the value.
 */
import { type InstanceTotals, STORED_TABLES_OF_RUN, storedSql } from '../../../ports/stores/stored-bytes.js';
import { SHARDS } from '../accounts/usage-counts.js';
import { integer, text, textOrNull } from '../connection/columns.js';
import { type Session, statement, type TransactionSession, tableWrite } from '../connection/connection.js';
import { type Columns, columnNames, unnest } from '../connection/row-sets.js';

const KEY = { instance_id: 'text', run_key: 'text' } as const satisfies Columns;

/** Returns SQL that sums `bytes` by `instance_id`, of the rows that `from` returns. */
export const addBytes = (from: string, sign: '' | '-' = ''): string => `
  INSERT INTO instance_totals (instance_id, shard, bytes)
  SELECT instance_id, pg_backend_pid() % ${SHARDS}, ${sign}sum(bytes) FROM ${from} GROUP BY instance_id ORDER BY instance_id
  ON CONFLICT (instance_id, shard) DO UPDATE SET bytes = instance_totals.bytes + excluded.bytes`;

/** Returns SQL that makes a change, which returns `instance_id` and `bytes`, and sums them. */
export const countChangedBytes = (change: string, sign: '' | '-' = ''): string =>
  `WITH changed AS (${change})${addBytes('changed', sign)}`;

const ADD = tableWrite(
  'instance_totals',
  `INSERT INTO instance_totals (instance_id, shard, bytes, active_runs)
  SELECT instance_id, pg_backend_pid() % ${SHARDS}, bytes, active_runs
  FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS w (instance_id, bytes, active_runs) ORDER BY instance_id
  ON CONFLICT (instance_id, shard) DO UPDATE SET
    bytes = instance_totals.bytes + excluded.bytes, active_runs = instance_totals.active_runs + excluded.active_runs`,
);

const ofTable = (table: (typeof STORED_TABLES_OF_RUN)[number]): string =>
  `SELECT ${storedSql(table, 't')} AS bytes FROM ${table} t WHERE t.instance_id = k.instance_id AND t.run_key = k.run_key`;
const OF_RUNS = `(
  SELECT k.instance_id, b.bytes FROM ${unnest(KEY)} AS k(${columnNames(KEY)}), LATERAL (
    SELECT octet_length(e.result) AS bytes FROM ended_run e
    WHERE e.instance_id = k.instance_id AND e.run_key = k.run_key AND e.result IS NOT NULL
    UNION ALL ${STORED_TABLES_OF_RUN.map(ofTable).join(' UNION ALL ')}) b) w`;
/** Subtracts the bytes of runs that are deleted next, with everything that belongs to them. */
export const RELEASE_BYTES_OF_RUNS = statement(addBytes(OF_RUNS, '-'));

const OF_ACCOUNT = statement(`
  SELECT q.instance_id, q.plan, coalesce(s.bytes, 0)::bigint AS bytes, coalesce(s.active_runs, 0)::bigint AS active_runs
  FROM queue_instance q CROSS JOIN LATERAL (
    SELECT sum(bytes) AS bytes, sum(active_runs) AS active_runs FROM instance_totals t WHERE t.instance_id = q.instance_id) s
  WHERE q.account_id = $1 ORDER BY q.seq`);

const INSTANCES_OF_ACCOUNT = statement('SELECT instance_id, plan FROM queue_instance WHERE account_id = $1 ORDER BY seq');
const OF_INSTANCES = statement(`
  SELECT instance_id, sum(bytes)::bigint AS bytes, sum(active_runs)::bigint AS active_runs
  FROM instance_totals WHERE instance_id = ANY($1::text[]) GROUP BY instance_id`);

/** The changes of a batch. */
export class StoredBytes {
  private readonly sums = new Map<string, { bytes: number; activeRuns: number }>();

  add(instanceId: string, bytes: number, activeRuns = 0): void {
    const sum = this.sums.get(instanceId);
    if (!sum) this.sums.set(instanceId, { bytes, activeRuns });
    else {
      sum.bytes += bytes;
      sum.activeRuns += activeRuns;
    }
  }

  send(session: TransactionSession): void {
    const changed = [...this.sums].filter(([, { bytes, activeRuns }]) => bytes !== 0 || activeRuns !== 0);
    this.sums.clear();
    if (changed.length === 0) return;
    session.sendJoined(ADD, [
      changed.map(([instanceId]) => instanceId),
      changed.map(([, { bytes }]) => bytes),
      changed.map(([, { activeRuns }]) => activeRuns),
    ]);
  }
}

/** Returns the totals of each instance of the account, in the order of creation. */
export async function totalsOf(session: Session, accountId: string): Promise<readonly InstanceTotals[]> {
  if (session.engine.isDistributed) return totalsOnServers(session, accountId);
  return (await session.query(OF_ACCOUNT, [accountId])).map((row) => ({
    instanceId: text(row, 'instance_id'),
    plan: textOrNull(row, 'plan'),
    bytes: integer(row, 'bytes'),
    activeRuns: integer(row, 'active_runs'),
  }));
}

/**
 * Reads the instances and their totals one after the other: a join would read the totals of all instances. Those on a server that is
 * down count as empty, so that the others are not refused.
 */
async function totalsOnServers(session: Session, accountId: string): Promise<readonly InstanceTotals[]> {
  const instances = await session.query(INSTANCES_OF_ACCOUNT, [accountId]);
  const { servers } = session.engine;
  const ids = instances.map((row) => text(row, 'instance_id')).filter((id) => !servers?.refusalOf([id]));
  const totals = new Map((await session.query(OF_INSTANCES, [ids])).map((row) => [text(row, 'instance_id'), row]));
  return instances.map((row) => {
    const instanceId = text(row, 'instance_id');
    const sums = totals.get(instanceId);
    const [bytes, activeRuns] = sums ? [integer(sums, 'bytes'), integer(sums, 'active_runs')] : [0, 0];
    return { instanceId, plan: textOrNull(row, 'plan'), bytes, activeRuns };
  });
}
