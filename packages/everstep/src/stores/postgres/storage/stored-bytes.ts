/**
 * Counts the stored bytes and active runs of each instance. A batch updates one row for each instance. Copied, replaced and deleted
 * data is counted by the statements that change it. As with usage, each connection adds to its own rows; the total is their sum.
 */
import { type InstanceTotals, STORED_TABLES_OF_RUN, storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import { SHARDS } from '../accounts/usage-counts.js';
import { integer, text, textOrNull } from '../connection/columns.js';
import { type Session, statement, type TransactionSession, tableWrite } from '../connection/connection.js';
import { type Columns, columnNames, unnest } from '../connection/row-sets.js';

const RUN_KEY = { instance_id: 'text', run_key: 'text' } as const satisfies Columns;

/** Returns SQL that adds the `bytes` of the rows in `from` to the totals of their instances, or subtracts them. */
export const addBytesSql = (from: string, sign: '' | '-' = ''): string => `
  INSERT INTO instance_totals (instance_id, shard, bytes)
  SELECT instance_id, pg_backend_pid() % ${SHARDS}, ${sign}sum(bytes) FROM ${from} GROUP BY instance_id ORDER BY instance_id
  ON CONFLICT (instance_id, shard) DO UPDATE SET bytes = instance_totals.bytes + excluded.bytes`;

/** Returns SQL that executes `change`, which must return `instance_id` and `bytes`, and adds these bytes to the totals. */
export const changeAndCountBytesSql = (change: string, sign: '' | '-' = ''): string =>
  `WITH changed AS (${change})${addBytesSql('changed', sign)}`;

const ADD = tableWrite(
  'instance_totals',
  `INSERT INTO instance_totals (instance_id, shard, bytes, active_runs)
  SELECT instance_id, pg_backend_pid() % ${SHARDS}, bytes, active_runs
  FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS w (instance_id, bytes, active_runs) ORDER BY instance_id
  ON CONFLICT (instance_id, shard) DO UPDATE SET
    bytes = instance_totals.bytes + excluded.bytes, active_runs = instance_totals.active_runs + excluded.active_runs`,
);

const tableBytesSql = (table: (typeof STORED_TABLES_OF_RUN)[number]): string =>
  `SELECT ${storedBytesSql(table, 't')} AS bytes FROM ${table} t WHERE t.instance_id = k.instance_id AND t.run_key = k.run_key`;
const BYTES_OF_RUNS = `(
  SELECT k.instance_id, b.bytes FROM ${unnest(RUN_KEY)} AS k(${columnNames(RUN_KEY)}), LATERAL (
    SELECT octet_length(e.result) AS bytes FROM ended_run e
    WHERE e.instance_id = k.instance_id AND e.run_key = k.run_key AND e.result IS NOT NULL
    UNION ALL ${STORED_TABLES_OF_RUN.map(tableBytesSql).join(' UNION ALL ')}) b) w`;
/** Subtracts the bytes of runs, with everything that belongs to them. It is sent before the runs are deleted. */
export const RELEASE_BYTES_OF_RUNS = statement(addBytesSql(BYTES_OF_RUNS, '-'));

const SELECT_TOTALS_OF_ACCOUNT = statement(`
  SELECT q.instance_id, q.plan, coalesce(s.bytes, 0)::bigint AS bytes, coalesce(s.active_runs, 0)::bigint AS active_runs
  FROM queue_instance q CROSS JOIN LATERAL (
    SELECT sum(bytes) AS bytes, sum(active_runs) AS active_runs FROM instance_totals t WHERE t.instance_id = q.instance_id) s
  WHERE q.account_id = $1 ORDER BY q.seq`);

const SELECT_INSTANCES_OF_ACCOUNT = statement('SELECT instance_id, plan FROM queue_instance WHERE account_id = $1 ORDER BY seq');
const SELECT_TOTALS_OF_INSTANCES = statement(`
  SELECT instance_id, sum(bytes)::bigint AS bytes, sum(active_runs)::bigint AS active_runs
  FROM instance_totals WHERE instance_id = ANY($1::text[]) GROUP BY instance_id`);

/** Collects the changes of a batch to stored bytes and active runs. */
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
    const changedSums = [...this.sums].filter(([, { bytes, activeRuns }]) => bytes !== 0 || activeRuns !== 0);
    this.sums.clear();
    if (changedSums.length === 0) return;
    session.sendJoined(ADD, [
      changedSums.map(([instanceId]) => instanceId),
      changedSums.map(([, { bytes }]) => bytes),
      changedSums.map(([, { activeRuns }]) => activeRuns),
    ]);
  }
}

/** Returns the totals of each instance of the account, in the order of creation. */
export async function readInstanceTotals(session: Session, accountId: string): Promise<readonly InstanceTotals[]> {
  if (session.engine.isDistributed) return readInstanceTotalsOnServers(session, accountId);
  return (await session.query(SELECT_TOTALS_OF_ACCOUNT, [accountId])).map((row) => ({
    instanceId: text(row, 'instance_id'),
    plan: textOrNull(row, 'plan'),
    bytes: integer(row, 'bytes'),
    activeRuns: integer(row, 'active_runs'),
  }));
}

/**
 * Reads the instances first and then their totals: a join would read the totals of all instances. Instances on a server that is
 * down count as empty, so that work of other instances is not rejected.
 */
async function readInstanceTotalsOnServers(session: Session, accountId: string): Promise<readonly InstanceTotals[]> {
  const instances = await session.query(SELECT_INSTANCES_OF_ACCOUNT, [accountId]);
  const { servers } = session.engine;
  const ids = instances.map((row) => text(row, 'instance_id')).filter((id) => !servers?.refusalOf([id]));
  const totalsById = new Map(
    (await session.query(SELECT_TOTALS_OF_INSTANCES, [ids])).map((row) => [text(row, 'instance_id'), row]),
  );
  return instances.map((row) => {
    const instanceId = text(row, 'instance_id');
    const totals = totalsById.get(instanceId);
    const [bytes, activeRuns] = totals ? [integer(totals, 'bytes'), integer(totals, 'active_runs')] : [0, 0];
    return { instanceId, plan: textOrNull(row, 'plan'), bytes, activeRuns };
  });
}
