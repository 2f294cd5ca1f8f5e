/** Takes and reads the leases that determine which node holds the gates of an instance, and publishes the status of the gates. */
import type { GateStatus } from '../../../ports/cluster.js';
import { json, text } from '../connection/columns.js';
import { type Database, type Session, statement } from '../connection/connection.js';
import { takeGate } from './distributed-claims.js';

const SELECT_HOLDER = statement('SELECT node_id FROM gate_lease WHERE instance_id = $1');
/** Takes the gates and locks the row of the node, so that a node that takes over from it waits, and then sees this lease. */
const TAKE = statement(`
  WITH taker AS MATERIALIZED (SELECT node_id FROM node WHERE node_id = $2 AND NOT leaving FOR KEY SHARE)
  INSERT INTO gate_lease (instance_id, node_id) SELECT $1, node_id FROM taker
  ON CONFLICT (instance_id) DO NOTHING`);
const UPDATE_STATUS = statement('UPDATE gate_lease SET standing = $3 WHERE instance_id = $1 AND node_id = $2');
const SELECT_STATUS = statement('SELECT standing FROM gate_lease WHERE instance_id = $1');

/** Returns the node that holds the gates. If no node holds them, this node takes them; `take` resolves with whether it did. */
export async function gateHolderOf(
  session: Session,
  instanceId: string,
  nodeId: string,
  take = async () => (await session.execute(TAKE, [instanceId, nodeId])) > 0,
): Promise<string> {
  for (;;) {
    const [row] = await session.query(SELECT_HOLDER, [instanceId]);
    if (row) return text(row, 'node_id');
    // A node without a row takes no gates, because its lease has ended. A leaving node takes none either.
    if (await take()) return nodeId;
    const [otherHolder] = await session.query(SELECT_HOLDER, [instanceId]);
    if (otherHolder) return text(otherHolder, 'node_id');
    throw new Error('this node cannot take gates: its lease has ended, or it is leaving');
  }
}

/** Like `gateHolderOf`, for distributed tables. */
export const gateHolderOnServers = (database: Database, instanceId: string, nodeId: string): Promise<string> =>
  gateHolderOf(database, instanceId, nodeId, () => database.transaction((session) => takeGate(session, instanceId, nodeId)));

export async function publishGateStatus(session: Session, instanceId: string, nodeId: string, status: GateStatus): Promise<void> {
  await session.execute(UPDATE_STATUS, [instanceId, nodeId, JSON.stringify(status)]);
}

export async function gateStatusOf(session: Session, instanceId: string): Promise<GateStatus | null> {
  const [row] = await session.query(SELECT_STATUS, [instanceId]);
  if (!row) return null;
  return row.standing === null ? { keys: {} } : json<GateStatus>(row, 'standing');
}
