/**
 * Claims queued messages. Only the node that holds the gates of an instance claims them, in the order of the queue.
 *
 * The gate lease is the claim; `claimed_by` only records what the node has read. A message is therefore returned even if another
 * transaction has its row locked: if it were skipped, the messages behind it would overtake it.
 * Keeps invariant 25.
 */
import type { QueuedQuery } from '../../../ports/cluster.js';
import type { DueTask } from '../../../ports/stores/store.js';
import { type Session, statement } from '../connection/connection.js';
import { DUE_TASK_COLUMNS, dueTaskOf } from '../runs/due-tasks.js';
import { claimQueuedByInstance, type Transact } from './distributed-claims.js';

/** Takes gates that have no holder, of instances with due messages in queues. A fixed order of locks prevents deadlocks. */
const takeGatesStatement = (where: string) =>
  statement(`
  WITH waiting AS MATERIALIZED (
    SELECT DISTINCT p.instance_id FROM task p
    WHERE p.queue IS NOT NULL AND p.due_at IS NOT NULL AND p.claimed_by IS NULL AND p.due_at <= $1 AND ${where}
      AND NOT EXISTS (SELECT 1 FROM gate_lease g WHERE g.instance_id = p.instance_id)
  ), taker AS MATERIALIZED (
    SELECT n.node_id FROM node n WHERE n.node_id = $2 AND NOT n.leaving AND EXISTS (SELECT 1 FROM waiting) FOR KEY SHARE OF n
  )
  INSERT INTO gate_lease (instance_id, node_id)
  SELECT waiting.instance_id, taker.node_id FROM waiting CROSS JOIN taker ORDER BY waiting.instance_id
  ON CONFLICT (instance_id) DO NOTHING`);
const TAKE_GATES = takeGatesStatement('true');
const TAKE_GATES_OF_INSTANCE = takeGatesStatement('p.instance_id = $3');

const dueMessagesSql = (where: string) => `
  SELECT p.instance_id, p.run_key, p.slot, p.due_at FROM task p
  WHERE ${where} AND p.due_at IS NOT NULL AND p.due_at <= $1 AND p.due_at > $4`;
const DUE_MESSAGES = dueMessagesSql('p.queue IS NOT NULL');
const unclaimedSql = (messagesSql: string) => `${messagesSql} AND p.claimed_by IS NULL
    AND EXISTS (SELECT 1 FROM gate_lease g WHERE g.instance_id = p.instance_id AND g.node_id = $2)`;

/**
 * Returns a statement that claims a page of messages. Messages with the same due time are never split across two pages, because
 * their order is that of `place`, by which only the messages within a page are sorted.
 *
 * The locks make a node that takes over from this one wait, so that it sees the claims of this node. A takeover also locks the row
 * of the node first. A node whose work was taken over finds no row and claims no messages.
 */
const claimStatement = (messagesSql: string) =>
  statement(`
  WITH seen AS MATERIALIZED (
    SELECT * FROM (${messagesSql}) AS p ORDER BY p.due_at FETCH FIRST ($3::bigint) ROWS WITH TIES
  ), claimant AS MATERIALIZED (
    SELECT n.node_id FROM node n WHERE n.node_id = $2 AND NOT n.leaving AND EXISTS (SELECT 1 FROM seen) FOR KEY SHARE OF n
  ), held AS MATERIALIZED (
    SELECT g.instance_id FROM claimant CROSS JOIN (SELECT DISTINCT instance_id FROM seen) AS s
    JOIN gate_lease g ON g.instance_id = s.instance_id AND g.node_id = claimant.node_id FOR KEY SHARE OF g
  ), mine AS MATERIALIZED (
    SELECT seen.* FROM seen WHERE seen.instance_id IN (SELECT instance_id FROM held)
  ), free AS MATERIALIZED (
    SELECT p.instance_id, p.run_key, p.slot FROM mine
    JOIN task p ON p.instance_id = mine.instance_id AND p.run_key = mine.run_key AND p.slot = mine.slot
    WHERE p.claimed_by IS NULL FOR NO KEY UPDATE OF p SKIP LOCKED
  ), marked AS (
    UPDATE task c SET claimed_by = $2, wanted_by = NULL FROM free
    WHERE c.instance_id = free.instance_id AND c.run_key = free.run_key AND c.slot = free.slot
  )
  SELECT ${DUE_TASK_COLUMNS} FROM mine
    JOIN task t ON t.instance_id = mine.instance_id AND t.run_key = mine.run_key AND t.slot = mine.slot
    JOIN run r ON r.instance_id = t.instance_id AND r.run_key = t.run_key
  ORDER BY t.due_at, r.place, t.slot`);

const CLAIM = claimStatement(unclaimedSql(DUE_MESSAGES));
/** Claims messages of one instance. `num_nonnulls` avoids the index of all queued messages: other instances may have many. */
const CLAIM_OF_INSTANCE = claimStatement(unclaimedSql(dueMessagesSql('p.instance_id = $5 AND num_nonnulls(p.queue) = 1')));
/** Reads unclaimed and claimed messages in one snapshot: a claim whose response was lost may become visible at any moment. */
const CLAIM_WITH_CLAIMED = claimStatement(`${unclaimedSql(DUE_MESSAGES)} UNION ALL ${DUE_MESSAGES} AND p.claimed_by = $2`);

/** Selects the page of one instance from distributed tables. */
const PAGE_ON_SERVER = statement(`
  SELECT ${DUE_TASK_COLUMNS} FROM (
    SELECT p.* FROM task p
    WHERE p.instance_id = $4 AND p.queue IS NOT NULL AND p.due_at IS NOT NULL AND p.due_at <= $1 AND p.due_at > $3
      AND (p.claimed_by IS NULL OR (p.claimed_by = $5 AND $6::boolean))
    ORDER BY p.due_at FETCH FIRST ($2::bigint) ROWS WITH TIES
  ) t JOIN run r ON r.instance_id = $4 AND r.run_key = t.run_key
  ORDER BY t.due_at, r.place, t.slot`);
/** Marks messages as claimed. Messages whose rows are locked are marked by a later read. */
const MARK_ON_SERVER = statement(`
  UPDATE task c SET claimed_by = $2, wanted_by = NULL FROM (
    SELECT p.run_key, p.slot FROM unnest($3::text[], $4::integer[]) AS u (run_key, slot)
    JOIN task p ON p.instance_id = $1 AND p.run_key = u.run_key AND p.slot = u.slot
    WHERE p.claimed_by IS NULL FOR NO KEY UPDATE OF p SKIP LOCKED
  ) AS free
  WHERE c.instance_id = $1 AND c.run_key = free.run_key AND c.slot = free.slot`);

export async function claimQueued(
  session: Session,
  nodeId: string,
  { before, after, includesClaimed, limit, instanceId }: QueuedQuery,
): Promise<readonly DueTask[]> {
  const parameters = [before, nodeId, limit, after ?? -1];
  // The gates are taken in a separate statement, which can wait for an earlier claim. The next statement sees that claim.
  if (instanceId !== undefined && !includesClaimed) {
    if (after === null) await session.execute(TAKE_GATES_OF_INSTANCE, [before, nodeId, instanceId]);
    return (await session.query(CLAIM_OF_INSTANCE, [...parameters, instanceId])).map(dueTaskOf);
  }
  if (after === null) await session.execute(TAKE_GATES, [before, nodeId]);
  return (await session.query(includesClaimed ? CLAIM_WITH_CLAIMED : CLAIM, parameters)).map(dueTaskOf);
}

/** Like `claimQueued`, for distributed tables. `transact` runs each part as a transaction. */
export async function claimQueuedOnServers(
  session: Session,
  transact: Transact,
  nodeId: string,
  query: QueuedQuery,
): Promise<readonly DueTask[]> {
  const { after, includesClaimed } = query;
  // The row of the node and the gates are locked, so that a node that takes over sees the claims.
  const claimedTasks = await claimQueuedByInstance(session, transact, nodeId, query, async (transaction, id, page) => {
    const rows = await transaction.query(PAGE_ON_SERVER, [page.before, page.limit, after ?? -1, id, nodeId, includesClaimed]);
    const tasks = rows.map(dueTaskOf);
    const taskColumns = [tasks.map(({ runKey }) => runKey), tasks.map(({ slot }) => slot)];
    if (tasks.length > 0) await transaction.execute(MARK_ON_SERVER, [id, nodeId, ...taskColumns]);
    return tasks;
  });
  // The sort is stable, so the order of the messages of an instance does not change.
  return [...claimedTasks].sort((a, b) => a.dueAt - b.dueAt);
}
