/** Publishes the workers that are connected to this node, and reads those of the other nodes. */
import type { ClusterMember, NodePool, PoolChanges, PoolKey } from '../../../ports/node-workers.js';
import type { WorkerStatus } from '../../../ports/workers.js';
import { integer, json, type Row, text, textOrNull } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, unnest } from '../connection/row-sets.js';

const POOL_NAME = { instance_id: 'text', app: 'text' } as const satisfies Columns;
const POOL = { ...POOL_NAME, places: 'bigint', workflows: 'text', connections: 'text' } as const satisfies Columns;

const SELECT_MEMBERS = statement('SELECT node_id, url, workers_version FROM node WHERE NOT leaving ORDER BY joined_at, node_id');
/** Locks the row of the node and increments its version. A node without a row publishes no pools, because its lease has ended. */
const INCREMENT_VERSION = statement('UPDATE node SET workers_version = workers_version + 1 WHERE node_id = $1');
const PUT = statement(`
  INSERT INTO worker_pool (node_id, ${columnNames(POOL)})
  SELECT n.node_id, u.* FROM ${unnest(POOL, 2)} AS u(${columnNames(POOL)})
    CROSS JOIN (SELECT node_id FROM node WHERE node_id = $1 FOR KEY SHARE) AS n
  ON CONFLICT (node_id, instance_id, app) DO UPDATE
  SET places = excluded.places, workflows = excluded.workflows, connections = excluded.connections`);
const REMOVE = statement(`
  DELETE FROM worker_pool p USING ${unnest(POOL_NAME, 2)} AS u(${columnNames(POOL_NAME)})
  WHERE p.node_id = $1 AND p.instance_id = u.instance_id AND p.app = u.app`);
const SELECT_POOLS = statement(
  'SELECT node_id, instance_id, app, places, workflows FROM worker_pool WHERE node_id = ANY($1::text[])',
);
const SELECT_CONNECTIONS = statement('SELECT connections FROM worker_pool WHERE instance_id = $1 AND node_id <> $2');

const memberOf = (row: Row): ClusterMember => ({
  nodeId: text(row, 'node_id'),
  url: textOrNull(row, 'url'),
  workersVersion: integer(row, 'workers_version'),
});

const poolOf = (row: Row): NodePool => ({
  nodeId: text(row, 'node_id'),
  instanceId: text(row, 'instance_id'),
  app: text(row, 'app'),
  slots: integer(row, 'places'),
  workflows: json<readonly string[]>(row, 'workflows'),
});

export const readMembers = async (session: Session): Promise<readonly ClusterMember[]> =>
  (await session.query(SELECT_MEMBERS)).map(memberOf);

export const readPools = async (session: Session, nodeIds: readonly string[]): Promise<readonly NodePool[]> =>
  (await session.query(SELECT_POOLS, [nodeIds])).map(poolOf);

/** Returns the connections of an instance to all nodes except this one. */
export async function readConnections(session: Session, instanceId: string, nodeId: string): Promise<readonly WorkerStatus[]> {
  const rows = await session.query(SELECT_CONNECTIONS, [instanceId, nodeId]);
  return rows.flatMap((row) => json<readonly WorkerStatus[]>(row, 'connections'));
}

const poolNameColumns = ({ instanceId, app }: PoolKey) => ({ instance_id: instanceId, app });

/** Publishes the pools of this node. `isVisible` is true if other nodes must read the pools again. */
export async function publishPools(
  session: TransactionSession,
  nodeId: string,
  { put, removed, othersMustReload }: PoolChanges,
): Promise<void> {
  if (othersMustReload && (await session.execute(INCREMENT_VERSION, [nodeId])) === 0) return;
  const rows = put.map(({ slots, workflows, connections, ...name }) => ({
    ...{ ...poolNameColumns(name), places: slots },
    ...{ workflows: JSON.stringify(workflows), connections: JSON.stringify(connections) },
  }));
  if (rows.length > 0) session.send(PUT, [nodeId, ...columnArrays(POOL, rows)]);
  if (removed.length > 0) session.send(REMOVE, [nodeId, ...columnArrays(POOL_NAME, removed.map(poolNameColumns))]);
}
