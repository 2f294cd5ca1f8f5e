/**
 * Claims and releases tasks in distributed tables. Each statement that locks or writes tasks names one instance. Plain reads over
 * all servers, which return few rows, find the instances. The table of nodes is on one server.
 * Keeps invariants 23 and 25.
 */
import type { ClaimQuery, QueuedQuery, WorkInProgress } from '../../../ports/cluster.js';
import type { DueTask } from '../../../ports/stores/store.js';
import { ServerUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { integer, type Row, text } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

/** Locks the row of a node, so that another node that takes over from it waits. */
const LOCK_NODE = statement('SELECT node_id FROM node WHERE node_id = $1 FOR KEY SHARE');
const LOCK_CLAIMANT = statement('SELECT node_id FROM node WHERE node_id = $1 AND NOT leaving FOR KEY SHARE');

const IS_DUE = 'p.due_at IS NOT NULL AND p.claimed_by IS NULL AND p.due_at <= $1';
const IS_CLAIMABLE = 'p.queue IS NULL AND (p.wanted_by IS NULL OR p.wanted_by = $2)';
const FIND_DUE = statement(`
  SELECT p.instance_id FROM task p WHERE ${IS_DUE} AND ${IS_CLAIMABLE} ORDER BY p.due_at, p.run_key, p.slot LIMIT $3`);

/** Resolves with `fallback` if the server of the instance has just stopped. The tasks are claimed when the server is back. */
async function resultUnlessDown<Result>(work: Promise<Result>, fallback: Result): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ServerUnavailableError) return fallback;
    throw error;
  }
}

/** Runs `claim` for each instance with due tasks. The limits of all calls add up to at most `limit` tasks. */
export async function claimByInstance(
  session: Session,
  nodeId: string,
  { before, limit, instanceId }: ClaimQuery,
  claim: (instanceId: string, limit: number) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  if (instanceId !== undefined) return claim(instanceId, limit);
  const dueCounts = new Map<string, number>();
  for (const row of await session.query(FIND_DUE, [before, nodeId, limit])) {
    const id = text(row, 'instance_id');
    dueCounts.set(id, (dueCounts.get(id) ?? 0) + 1);
  }
  const claimedRows = await Promise.all([...dueCounts].map(([id, tasks]) => resultUnlessDown(claim(id, tasks), [])));
  return claimedRows.flat();
}

/** The condition on `due_at` is that of the index of claims. */
const IS_HELD_BY_NODES = '((due_at IS NOT NULL AND claimed_by = ANY($1::text[])) OR wanted_by = ANY($1::text[]))';
const SELECT_LOST_CLAIMANTS = statement(`
  SELECT DISTINCT claimed_by AS id FROM task WHERE due_at IS NOT NULL AND claimed_by IS NOT NULL AND claimed_by <> ALL($1::text[])`);
const SELECT_LOST_RECEIVERS = statement(
  'SELECT DISTINCT wanted_by AS id FROM task WHERE wanted_by IS NOT NULL AND wanted_by <> ALL($1::text[])',
);
const SELECT_NODE_IDS = statement('SELECT node_id FROM node');
const SELECT_INSTANCES_OF_HOLDERS = statement(`SELECT DISTINCT instance_id FROM task WHERE ${IS_HELD_BY_NODES}`);
const SELECT_GATES = statement('SELECT instance_id FROM gate_lease WHERE node_id = ANY($1::text[])');
const RELEASE_CLAIMS = statement(`
  UPDATE task SET claimed_by = NULL, wanted_by = NULL
  WHERE instance_id = $2 AND due_at IS NOT NULL AND claimed_by = ANY($1::text[])`);
const RELEASE_WANTED = statement('UPDATE task SET wanted_by = NULL WHERE instance_id = $2 AND wanted_by = ANY($1::text[])');
const RELEASE_GATES = statement('DELETE FROM gate_lease WHERE instance_id = $2 AND node_id = ANY($1::text[])');

const readNodeIds = async (session: Session): Promise<readonly string[]> =>
  (await session.query(SELECT_NODE_IDS)).map((row) => text(row, 'node_id'));

/**
 * Returns the holders of claims that have no row in the table of nodes. A node joins before it claims, so the nodes are read again
 * after the claims.
 */
export async function readLostHolders(session: Session): Promise<readonly string[]> {
  const nodeIds = await readNodeIds(session);
  const holderRows = await Promise.all([
    session.query(SELECT_LOST_CLAIMANTS, [nodeIds]),
    session.query(SELECT_LOST_RECEIVERS, [nodeIds]),
  ]);
  const candidates = new Set(holderRows.flat().map((row) => text(row, 'id')));
  if (candidates.size > 0) for (const nodeId of await readNodeIds(session)) candidates.delete(nodeId);
  return [...candidates];
}

/** Releases all claims and gates of these nodes. */
export async function releaseClaimsByInstance(session: TransactionSession, nodeIds: readonly string[]): Promise<void> {
  const [gateRows, taskRows] = await Promise.all([
    session.query(SELECT_GATES, [nodeIds]),
    session.query(SELECT_INSTANCES_OF_HOLDERS, [nodeIds]),
  ]);
  for (const row of gateRows) session.send(RELEASE_GATES, [nodeIds, text(row, 'instance_id')]);
  for (const row of taskRows) {
    session.send(RELEASE_CLAIMS, [nodeIds, text(row, 'instance_id')]);
    session.send(RELEASE_WANTED, [nodeIds, text(row, 'instance_id')]);
  }
}

const SELECT_CLAIMS = statement('SELECT instance_id, run_key, slot FROM task WHERE due_at IS NOT NULL AND claimed_by = $1');
const SELECT_INSTANCES_OF_RECEIVER = statement('SELECT DISTINCT instance_id FROM task WHERE wanted_by = $1');
const RELEASE_CLAIM = statement(`
  UPDATE task SET claimed_by = NULL, wanted_by = NULL WHERE instance_id = $2 AND run_key = $3 AND slot = $4 AND claimed_by = $1`);

/** Releases the claims and gates of a stopping node, except those of its work in progress. Returns whether gates were released. */
export async function releaseUnusedByInstance(
  session: TransactionSession,
  nodeId: string,
  { tasks, gates }: WorkInProgress,
): Promise<boolean> {
  const busyInstanceIds = new Set(gates);
  // Gates are released first, so that a node that hands tasks over because of the gates sees the release.
  const releasedInstanceIds = (await session.query(SELECT_GATES, [[nodeId]]))
    .map((row) => text(row, 'instance_id'))
    .filter((id) => !busyInstanceIds.has(id));
  for (const instanceId of releasedInstanceIds) await session.execute(RELEASE_GATES, [[nodeId], instanceId]);
  const tasksInProgress = new Set(tasks.map(({ runKey, slot }) => `${runKey}\n${slot}`));
  for (const { instance_id, run_key, slot } of await session.query(SELECT_CLAIMS, [nodeId])) {
    const [instanceId, runKey, taskSlot] = [String(instance_id), String(run_key), Number(slot)];
    if (!tasksInProgress.has(`${runKey}\n${taskSlot}`)) session.send(RELEASE_CLAIM, [nodeId, instanceId, runKey, taskSlot]);
  }
  for (const row of await session.query(SELECT_INSTANCES_OF_RECEIVER, [nodeId])) {
    const instanceId = text(row, 'instance_id');
    if (!busyInstanceIds.has(instanceId)) session.send(RELEASE_WANTED, [[nodeId], instanceId]);
  }
  return releasedInstanceIds.length > 0;
}

const TAKE_GATE = statement('INSERT INTO gate_lease (instance_id, node_id) VALUES ($1, $2) ON CONFLICT (instance_id) DO NOTHING');

/** Takes the gates of an instance for the node if no node holds them. Returns whether it took them. */
export async function takeGate(session: TransactionSession, instanceId: string, nodeId: string): Promise<boolean> {
  if ((await session.query(LOCK_CLAIMANT, [nodeId])).length === 0) return false;
  return (await session.execute(TAKE_GATE, [instanceId, nodeId])) > 0;
}

/** Locks the row of the node that tasks are handed to. Returns its id; null if the node is gone. */
export const lockReceivingNode = async (session: TransactionSession, nodeId: string): Promise<string | null> =>
  (await session.query(LOCK_NODE, [nodeId])).length > 0 ? nodeId : null;

const IS_DUE_MESSAGE = 'p.queue IS NOT NULL AND p.due_at IS NOT NULL AND p.due_at <= $1';
const INSTANCES_WITHOUT_HOLDER = statement(`
  SELECT DISTINCT p.instance_id FROM task p WHERE ${IS_DUE_MESSAGE} AND p.claimed_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM gate_lease g WHERE g.instance_id = p.instance_id)`);
const HELD_MESSAGES = `FROM task p JOIN gate_lease g ON g.instance_id = p.instance_id
  WHERE ${IS_DUE_MESSAGE} AND g.node_id = $2 AND p.due_at > $3 AND (p.claimed_by IS NULL OR (p.claimed_by = $2 AND $4::boolean))`;
const SELECT_DUE_TIMES = statement(`SELECT p.due_at ${HELD_MESSAGES} ORDER BY p.due_at LIMIT $5`);
const INSTANCES_WITH_MESSAGES = statement(`SELECT DISTINCT p.instance_id ${HELD_MESSAGES}`);
const LOCK_GATE = statement('SELECT instance_id FROM gate_lease WHERE instance_id = $1 AND node_id = $2 FOR KEY SHARE');
/** A limit that no instance reaches. */
const NO_LIMIT = 2_147_483_647;

/** Runs `work` as a transaction, or within an open transaction. */
export type Transact = <Result>(work: (session: TransactionSession) => Promise<Result>) => Promise<Result>;

/** Takes gates that no node holds: those of the instance, or of all instances with due messages in queues. */
async function takeGates(
  session: Session,
  transact: Transact,
  nodeId: string,
  { before, instanceId }: QueuedQuery,
): Promise<void> {
  const rows = instanceId === undefined ? await session.query(INSTANCES_WITHOUT_HOLDER, [before]) : [{ instance_id: instanceId }];
  for (const id of rows.map((row) => text(row, 'instance_id')).sort())
    await resultUnlessDown(
      transact((transaction) => takeGate(transaction, id, nodeId)),
      false,
    );
}

interface QueuedPage {
  readonly before: number;
  readonly limit: number;
}

/**
 * Runs `claim` for each instance whose gates the node holds, while the row of the node and the gates are locked. A page contains
 * all messages up to a due time, so that the next page starts after that time in each instance.
 */
export async function claimQueuedByInstance(
  session: Session,
  transact: Transact,
  nodeId: string,
  query: QueuedQuery,
  claim: (session: Session, id: string, page: QueuedPage) => Promise<readonly DueTask[]>,
): Promise<readonly DueTask[]> {
  const { before, after, includesClaimed, limit, instanceId } = query;
  if (after === null) await takeGates(session, transact, nodeId, query);
  const claimInInstance = (id: string, page: QueuedPage) =>
    transact(async (transaction) => {
      if ((await transaction.query(LOCK_CLAIMANT, [nodeId])).length === 0) return [];
      return (await transaction.query(LOCK_GATE, [id, nodeId])).length === 0 ? [] : claim(transaction, id, page);
    });
  if (instanceId !== undefined) return claimInInstance(instanceId, { before, limit });
  const dueTimes = await session.query(SELECT_DUE_TIMES, [before, nodeId, after ?? -1, includesClaimed, limit]);
  const lastDueTime = dueTimes.at(-1);
  const dueUntil = lastDueTime && dueTimes.length === limit ? integer(lastDueTime, 'due_at') : before;
  const instances = await session.query(INSTANCES_WITH_MESSAGES, [dueUntil, nodeId, after ?? -1, includesClaimed]);
  const claimedTasks: DueTask[] = [];
  for (const row of instances)
    claimedTasks.push(
      ...(await resultUnlessDown(claimInInstance(text(row, 'instance_id'), { before: dueUntil, limit: NO_LIMIT }), [])),
    );
  return claimedTasks;
}
