/** Finds the shards and the queue instances of a Citus cluster, and moves an instance while nodes use it. */
import type pg from 'pg';
import { DistributionError } from './distribute.js';
import { TABLES_BY_INSTANCE } from './tables.js';

/** A server that can have shards. */
export interface ServerStatus {
  /** Host and port of the server. */
  readonly server: string;
  /** Number of shards of each table of runs. */
  readonly shards: number;
}

export interface InstanceLocation {
  readonly instanceId: string;
  /** Number of its shard of the table `run`. Its shards of the other tables are on the same server. */
  readonly shard: string;
  readonly server: string;
}

const [TABLE] = TABLES_BY_INSTANCE;
const SERVER = `n.nodename || ':' || n.nodeport`;

/** Returns the servers in the order of their names. Does not connect to them. */
export async function serversOf(client: pg.ClientBase): Promise<readonly ServerStatus[]> {
  const { rows } = await client.query<ServerStatus>(`
    SELECT ${SERVER} AS server, count(s.shardid)::integer AS shards
    FROM pg_dist_node n LEFT JOIN pg_dist_placement p ON p.groupid = n.groupid
      LEFT JOIN pg_dist_shard s ON s.shardid = p.shardid AND s.logicalrelid = '${TABLE}'::regclass
    WHERE n.noderole = 'primary' AND n.shouldhaveshards GROUP BY 1 ORDER BY 1`);
  return rows;
}

/** Returns the locations of instances in the order of their ids: at most `limit` after the id `after`, or only that of `only`. */
export async function locationsOf(
  client: pg.ClientBase,
  { only, after = '', limit }: { readonly only?: string; readonly after?: string; readonly limit: number },
): Promise<readonly InstanceLocation[]> {
  const { rows } = await client.query<{ id: string; shard: string; server: string }>(
    `SELECT i.instance_id AS id, i.shard::text AS shard, ${SERVER} AS server
     FROM (SELECT instance_id, get_shard_id_for_distribution_column('${TABLE}', instance_id) AS shard
       FROM queue_instance WHERE instance_id > $1 AND ($3::text IS NULL OR instance_id = $3) ORDER BY instance_id LIMIT $2) i
     JOIN pg_dist_placement p ON p.shardid = i.shard
     JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary' ORDER BY 1`,
    [after, limit, only ?? null],
  );
  return rows.map(({ id, shard, server }) => ({ instanceId: id, shard, server }));
}

async function locationOf(client: pg.ClientBase, instanceId: string): Promise<InstanceLocation> {
  const [location] = await locationsOf(client, { only: instanceId, limit: 1 });
  if (!location)
    throw new DistributionError(
      `queue instance ${instanceId} was not found, or the tables are not distributed; see everstep store status`,
    );
  return location;
}

/**
 * Moves an instance to another server with all its rows, while nodes use it. If its shard contains other instances, the instance
 * first gets a separate shard: the writes of all these instances wait while the rows of the shard are copied. At the end of the
 * move, the writes of the instance wait for a moment. Returns the new location.
 */
export async function moveInstance(
  client: pg.ClientBase,
  { instanceId, to }: { readonly instanceId: string; readonly to: string },
): Promise<InstanceLocation> {
  const servers = await serversOf(client);
  if (!servers.some(({ server }) => server === to)) {
    const serverNames = servers.map(({ server }) => server).join(', ');
    throw new DistributionError(`${to} is not a server of the cluster; use one of ${serverNames}`);
  }
  // There is no timeout, because all rows of the shard are copied.
  await client.query('SET statement_timeout = 0; SET lock_timeout = 0');
  let location = await locationOf(client, instanceId);
  if (!(await hasOneInstance(client, location.shard))) {
    await client.query(
      // Logical replication into a new shard can stop at the first update of a row.
      `SELECT isolate_tenant_to_new_shard('${TABLE}', $1::text, 'CASCADE', shard_transfer_mode => 'block_writes')`,
      [instanceId],
    );
    location = await locationOf(client, instanceId);
  }
  if (location.server === to) return location;
  const [sourceAddress, targetAddress] = [location.server, to].map(addressOf);
  await client.query(`SELECT citus_move_shard_placement($1::bigint, $2, $3, $4, $5, 'force_logical')`, [
    location.shard,
    ...(sourceAddress ?? []),
    ...(targetAddress ?? []),
  ]);
  return locationOf(client, instanceId);
}

function addressOf(server: string): readonly [host: string, port: number] {
  const colon = server.lastIndexOf(':');
  return [server.slice(0, colon), Number(server.slice(colon + 1))];
}

/** Returns whether no other instance is on the shard. */
async function hasOneInstance(client: pg.ClientBase, shard: string): Promise<boolean> {
  const { rows } = await client.query<{ instances: string }>(
    `SELECT count(*) AS instances FROM queue_instance
     WHERE get_shard_id_for_distribution_column('${TABLE}', instance_id) = $1::bigint`,
    [shard],
  );
  return rows[0]?.instances === '1';
}
