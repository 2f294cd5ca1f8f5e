/** Distributes the tables of a schema over the servers of a Citus cluster. Tables that are already distributed do not change. */
import type pg from 'pg';
import { lockSchema } from '../connection/migrate.js';
import { TABLES_BY_INSTANCE, TABLES_BY_RUN, TABLES_ON_EVERY_SERVER } from './tables.js';

/** How a table that is not distributed yet will be distributed. */
export interface Distribution {
  readonly table: string;
  /** The column by which the table is distributed; null if it is copied to every server. */
  readonly by: string | null;
}

export interface DistributionState {
  /** Version of the extension, such as `13.0-1`. */
  readonly version: string;
  /** Host and port of each server that can have shards. */
  readonly servers: readonly string[];
  /** Tables that are not distributed yet. */
  readonly pending: readonly Distribution[];
  /** Hosts of the nodes with a lease. The tables are not distributed while a node is running. */
  readonly nodes: readonly string[];
}

/** Thrown if the tables cannot be distributed. The message is for the operator. */
export class DistributionError extends Error {
  override readonly name = 'DistributionError';
}

const DEFAULT_SHARDS = 32;
/** All distributed tables, each after the tables that it refers to. */
const DISTRIBUTIONS: readonly Distribution[] = [
  ...TABLES_ON_EVERY_SERVER.map((table) => ({ table, by: null })),
  ...TABLES_BY_INSTANCE.map((table) => ({ table, by: 'instance_id' })),
  ...TABLES_BY_RUN.map((table) => ({ table, by: 'instance_id' })),
];
const [FIRST_BY_INSTANCE] = TABLES_BY_INSTANCE;
const [DIRECTORY] = TABLES_BY_RUN;
/**
 * The directory of runs is on the server of the instance, so that the start of a run needs no other server. Unique constraints must
 * contain the distribution column.
 */
const PREPARE_DIRECTORY = `ALTER TABLE ${DIRECTORY} DROP CONSTRAINT IF EXISTS ${DIRECTORY}_pkey, ADD PRIMARY KEY (run_key, instance_id)`;

/** Reads what `distribute` would do. Rejects with DistributionError if the server has no extension `citus`. */
export async function distributionState(client: pg.ClientBase): Promise<DistributionState> {
  const [extension] = (
    await client.query<{ version: string }>(`SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'`)
  ).rows;
  if (!extension) {
    throw new DistributionError(
      'the database has no extension "citus", so its tables cannot be distributed; ' +
        'create the extension on the coordinator and add its workers first',
    );
  }
  const servers = await client.query<{ server: string }>(
    `SELECT nodename || ':' || nodeport AS server FROM pg_dist_node WHERE shouldhaveshards AND isactive ORDER BY 1`,
  );
  if (servers.rows.length === 0)
    throw new DistributionError('the cluster has no server that can have shards; add workers with citus_add_node first');
  const distributedTables = await client.query<{ name: string; by: string | null }>(`
    SELECT c.relname AS name, column_to_column_name(p.logicalrelid, p.partkey) AS by
    FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
    WHERE c.relnamespace = current_schema()::regnamespace`);
  const distributionColumns = new Map(distributedTables.rows.map(({ name, by }) => [name, by]));
  const [schema] = (await client.query<{ hasTables: boolean }>(`SELECT to_regclass('node') IS NOT NULL AS "hasTables"`)).rows;
  const nodes = schema?.hasTables
    ? await client.query<{ host: string }>('SELECT host FROM node WHERE lease_until >= clock_timestamp() ORDER BY host')
    : { rows: [] };
  return {
    version: extension.version,
    servers: servers.rows.map(({ server }) => server),
    pending: DISTRIBUTIONS.filter(({ table, by }) => distributionColumns.get(table) !== by),
    nodes: nodes.rows.map(({ host }) => host),
  };
}

/** Prepares the directory. An earlier version distributed it by run, and its primary key had only the run. */
async function prepareDirectory(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query('SELECT 1 FROM pg_dist_partition WHERE logicalrelid = $1::text::regclass', [DIRECTORY]);
  if (rows.length > 0) await client.query('SELECT undistribute_table($1::text::regclass)', [DIRECTORY]);
  await client.query(PREPARE_DIRECTORY);
}

async function distributeTable(client: pg.ClientBase, { table, by }: Distribution, shards: number): Promise<void> {
  if (by === null) {
    await client.query('SELECT create_reference_table($1::text::regclass)', [table]);
    return;
  }
  if (table === DIRECTORY) await prepareDirectory(client);
  const isColocated = table !== FIRST_BY_INSTANCE;
  await client.query(
    `SELECT create_distributed_table($1::text::regclass, $2, colocate_with => $3${isColocated ? '' : ', shard_count => $4'})`,
    isColocated ? [table, by, FIRST_BY_INSTANCE] : [table, by, 'none', shards],
  );
}

/**
 * Distributes one table after the other and reports each. Rejects with DistributionError while a node has a lease. A node that
 * starts waits until the connection is closed, because it must detect the distributed tables.
 */
export async function distribute(
  client: pg.ClientBase,
  { shards = DEFAULT_SHARDS, done }: { readonly shards?: number; readonly done?: (table: Distribution) => void } = {},
): Promise<void> {
  // There is no timeout from here on, because existing rows are copied.
  await lockSchema(client);
  const { pending, nodes } = await distributionState(client);
  if (pending.length > 0 && nodes.length > 0) {
    throw new DistributionError(
      `nodes are running (${nodes.join(', ')}); stop all nodes first, because they detect distributed tables only when they start`,
    );
  }
  for (const pendingTable of pending) {
    await distributeTable(client, pendingTable, shards);
    done?.(pendingTable);
  }
}
