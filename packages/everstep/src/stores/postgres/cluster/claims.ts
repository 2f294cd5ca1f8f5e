/** Claims, hands over and releases tasks. A claim determines which node acts on a task. Keeps invariant 23. */
import type { ClaimQuery, Loan, TaskId, WorkInProgress } from '../../../ports/cluster.js';
import type { DueTask } from '../../../ports/stores/store.js';
import { integer, text, textOrNull } from '../connection/columns.js';
import {
  type Database,
  distributableStatement,
  type Session,
  statement,
  type TransactionSession,
} from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, unnest } from '../connection/row-sets.js';
import { DUE_TASK_COLUMNS, type DueTasksQuery, dueTaskOf, dueTaskParameters, dueTasksStatement } from '../runs/due-tasks.js';
import type { RunInstances } from '../runs/run-instances.js';
import {
  claimByInstance,
  lockReceivingNode,
  readLostHolders,
  releaseClaimsByInstance,
  releaseUnusedByInstance,
} from './distributed-claims.js';

/**
 * Maximum number of claims of lost nodes that one transaction releases, except those of messages in queues. A node can have claimed
 * more than can be released within the timeout of a statement.
 */
const MAX_RELEASED_AT_ONCE = 20_000;

const TASK_REFERENCE = { run_key: 'text', slot: 'integer' } as const satisfies Columns;
const TASK_OF_INSTANCE = { instance_id: 'text', ...TASK_REFERENCE } as const satisfies Columns;
const LOAN = { ...TASK_OF_INSTANCE, node_id: 'text' } as const satisfies Columns;

/** Returns a statement that claims due tasks, except queued messages, which `queue-claims.ts` claims. */
const claimStatement = (where: string) =>
  statement(`
  WITH picked AS (
    SELECT p.instance_id, p.run_key, p.slot, CASE WHEN p.wanted_by IS NOT NULL THEN p.lent_by END AS lender FROM task p
    WHERE p.due_at IS NOT NULL AND p.claimed_by IS NULL AND p.due_at <= $1 AND (p.wanted_by IS NULL OR p.wanted_by = $2)
      AND p.queue IS NULL AND ${where}
    ORDER BY p.due_at, p.run_key, p.slot LIMIT $3 FOR NO KEY UPDATE OF p SKIP LOCKED
  ), t AS (
    UPDATE task c SET claimed_by = $2, wanted_by = NULL FROM picked
    WHERE c.instance_id = picked.instance_id AND c.run_key = picked.run_key AND c.slot = picked.slot
    RETURNING c.*, picked.lender
  )
  SELECT ${DUE_TASK_COLUMNS}, t.lender FROM t JOIN run r ON r.instance_id = t.instance_id AND r.run_key = t.run_key
  ORDER BY t.due_at, r.place, t.slot`);
const CLAIM = claimStatement('true');
const CLAIM_OF_INSTANCE = distributableStatement(claimStatement('p.instance_id = $4').text, [
  claimStatement('p.instance_id = $4')
    .text.replace('WHERE c.instance_id = picked.instance_id', 'WHERE c.instance_id = $4 AND c.instance_id = picked.instance_id')
    .replace('JOIN run r ON', 'JOIN run r ON r.instance_id = $4 AND'),
]);
const SELECT_CLAIMED = dueTasksStatement('claimed_by = $6');
const SELECT_CLAIMED_OF_INSTANCE = dueTasksStatement('claimed_by = $6 AND instance_id = $7');
const SELECT_NEXT_UNCLAIMED = statement(`
  SELECT due_at FROM task WHERE claimed_by IS NULL AND due_at > $1 ORDER BY due_at LIMIT 1`);
const handOverSql = (receiverSql: string) => `
  UPDATE task t SET claimed_by = NULL, wanted_by = ${receiverSql}, lent_by = CASE WHEN $3 THEN $2 END
  FROM ${unnest(TASK_OF_INSTANCE, 4)} AS u(${columnNames(TASK_OF_INSTANCE)})
  WHERE t.instance_id = u.instance_id AND t.run_key = u.run_key AND t.slot = u.slot AND t.claimed_by = $2
  RETURNING t.wanted_by`;
/** Hands tasks over. If the receiving node is gone, they become unclaimed. `lent_by` is valid only together with `wanted_by`. */
const HAND_OVER = statement(`
  WITH taker AS MATERIALIZED (SELECT node_id FROM node WHERE node_id = $1 FOR KEY SHARE),
  handed AS (${handOverSql('(SELECT node_id FROM taker)')})
  SELECT count(*) FILTER (WHERE wanted_by IS NULL) AS left_over FROM handed`);
/** Hands tasks to a node whose row is locked. If the node is null, the tasks become unclaimed. */
const HAND_OVER_TO_LOCKED = statement(handOverSql('$1::text'));
const SELECT_OPEN_LOANS = statement(`
  SELECT u.run_key, u.slot, u.node_id
  FROM ${unnest(LOAN)} AS u(${columnNames(LOAN)}) JOIN task t ON t.instance_id = u.instance_id AND t.run_key = u.run_key AND t.slot = u.slot
  WHERE t.due_at IS NOT NULL AND (t.claimed_by = u.node_id OR t.wanted_by = u.node_id)`);
const BEGIN_LEAVING = statement('UPDATE node SET leaving = true WHERE node_id = $1 AND NOT leaving');
const RELEASE_UNUSED_GATES = statement('DELETE FROM gate_lease WHERE node_id = $1 AND instance_id <> ALL($2::text[])');
/**
 * The condition on `due_at` is that of the index of claims. Parked tasks keep their claims, which have no effect: when such a task
 * becomes due again, it gets a new claim or none.
 */
const RELEASE_UNUSED_CLAIMS = statement(`
  UPDATE task t SET claimed_by = NULL, wanted_by = NULL WHERE t.due_at IS NOT NULL AND t.claimed_by = $3 AND NOT EXISTS (
    SELECT 1 FROM ${unnest(TASK_REFERENCE)} AS u(${columnNames(TASK_REFERENCE)}) WHERE u.run_key = t.run_key AND u.slot = t.slot)`);
const RELEASE_UNUSED_WANTED = statement(
  'UPDATE task SET wanted_by = NULL WHERE wanted_by = $1 AND instance_id <> ALL($2::text[])',
);
/** Messages in queues are released together: if some stayed claimed, those behind them would overtake them. */
const RELEASE_CLAIMED_MESSAGES = statement(`
  UPDATE task SET claimed_by = NULL, wanted_by = NULL
  WHERE due_at IS NOT NULL AND claimed_by = ANY($1::text[]) AND queue IS NOT NULL`);
const RELEASE_CLAIMS = statement(`
  UPDATE task t SET claimed_by = NULL, wanted_by = NULL FROM (
    SELECT instance_id, run_key, slot FROM task WHERE due_at IS NOT NULL AND claimed_by = ANY($1::text[]) AND queue IS NULL
    LIMIT $2 FOR NO KEY UPDATE
  ) AS u
  WHERE t.instance_id = u.instance_id AND t.run_key = u.run_key AND t.slot = u.slot`);
const RELEASE_WANTED = statement('UPDATE task SET wanted_by = NULL WHERE wanted_by = ANY($1::text[])');
const RELEASE_GATES = statement('DELETE FROM gate_lease WHERE node_id = ANY($1::text[])');

/** Returns SQL that steps from one holder to the next in the index. There is one step for each node, however many tasks it has. */
const holdersSql = (column: string, where: string) => `
  (SELECT ${column} AS id FROM task WHERE ${where} AND ${column} IS NOT NULL ORDER BY ${column} LIMIT 1)
  UNION ALL
  SELECT (SELECT ${column} FROM task WHERE ${where} AND ${column} > h.id ORDER BY ${column} LIMIT 1)
  FROM ${column}_of h WHERE h.id IS NOT NULL`;
const SELECT_LOST_HOLDERS = statement(`
  WITH RECURSIVE claimed_by_of AS (${holdersSql('claimed_by', 'due_at IS NOT NULL')}),
    wanted_by_of AS (${holdersSql('wanted_by', 'true')})
  SELECT id FROM (SELECT id FROM claimed_by_of UNION SELECT id FROM wanted_by_of) AS h
  WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM node WHERE node_id = h.id)`);

export async function claimDue(
  session: Session,
  nodeId: string,
  { before, limit, instanceId }: ClaimQuery,
): Promise<readonly DueTask[]> {
  const claimInInstance = (id: string, maxTasks: number) => session.query(CLAIM_OF_INSTANCE, [before, nodeId, maxTasks, id]);
  const claimAll = () =>
    instanceId === undefined ? session.query(CLAIM, [before, nodeId, limit]) : claimInInstance(instanceId, limit);
  const rows = session.engine.isDistributed
    ? claimByInstance(session, nodeId, { before, limit, ...(instanceId === undefined ? {} : { instanceId }) }, claimInInstance)
    : claimAll();
  return (await rows).map((row) => {
    const lender = textOrNull(row, 'lender');
    return lender === null ? dueTaskOf(row) : { ...dueTaskOf(row), lentBy: lender };
  });
}

/** Returns the loans whose tasks are still claimed by, or handed to, the nodes that they were lent to. */
export async function readOpenLoans(session: Session, instances: RunInstances, loans: readonly Loan[]): Promise<readonly Loan[]> {
  const rows = (await withInstances(instances, loans)).map(({ to, ...row }) => ({ ...row, node_id: to }));
  return (await session.query(SELECT_OPEN_LOANS, columnArrays(LOAN, rows))).map((row) => ({
    runKey: text(row, 'run_key'),
    slot: integer(row, 'slot'),
    to: text(row, 'node_id'),
  }));
}

/** Returns the due tasks that this node has claimed, for a node that may have missed some of them. */
export async function readClaimed(session: Session, nodeId: string, query: DueTasksQuery): Promise<readonly DueTask[]> {
  const parameters = [...dueTaskParameters(query), nodeId];
  const { instanceId } = query;
  const rows =
    instanceId === undefined
      ? session.query(SELECT_CLAIMED, parameters)
      : session.query(SELECT_CLAIMED_OF_INSTANCE, [...parameters, instanceId]);
  return (await rows).map(dueTaskOf);
}

export async function readNextUnclaimedAt(session: Session, after: number): Promise<number | null> {
  const [row] = await session.query(SELECT_NEXT_UNCLAIMED, [after]);
  return row ? integer(row, 'due_at') : null;
}

/** Returns the tasks as rows with the instances of their runs, except tasks of runs that never existed. */
async function withInstances<Task extends TaskId>(instances: RunInstances, tasks: readonly Task[]) {
  const instanceIds = await instances.instancesOf(tasks.map(({ runKey }) => runKey));
  return tasks.flatMap(({ runKey, ...task }) => {
    const instance_id = instanceIds.get(runKey);
    return instance_id === undefined ? [] : [{ ...task, instance_id, run_key: runKey }];
  });
}

/** Hands the tasks to the node. Returns false if that node is gone and the tasks are unclaimed. */
export async function handOver(
  database: Database,
  instances: RunInstances,
  tasks: readonly TaskId[],
  { from, to, isLent = false }: { readonly from: string; readonly to: string; readonly isLent?: boolean },
): Promise<boolean> {
  const rows = await withInstances(instances, tasks);
  const values = [from, isLent, ...columnArrays(TASK_OF_INSTANCE, rows)];
  if (database.engine.isDistributed) {
    return database.transaction(async (session) => {
      const receiverId = await lockReceivingNode(session, to);
      await session.query(HAND_OVER_TO_LOCKED, [receiverId, ...values]);
      return receiverId !== null;
    });
  }
  const [row] = await database.query(HAND_OVER, [to, ...values]);
  return row === undefined || integer(row, 'left_over') === 0;
}

const referenceArrays = (tasks: readonly TaskId[]) =>
  columnArrays(
    TASK_REFERENCE,
    tasks.map(({ runKey, slot }) => ({ run_key: runKey, slot })),
  );

/**
 * Stops the node from claiming, and releases its claims and gates except those of the work in progress. Resolves with true if gates
 * were released.
 */
export async function releaseClaims(
  session: TransactionSession,
  nodeId: string,
  { tasks, gates }: WorkInProgress,
): Promise<boolean> {
  await session.execute(BEGIN_LEAVING, [nodeId]);
  if (session.engine.isDistributed) return releaseUnusedByInstance(session, nodeId, { tasks, gates });
  // Gates are released first, so that a node that hands tasks over because of the gates sees the release.
  const releasedGates = await session.execute(RELEASE_UNUSED_GATES, [nodeId, gates]);
  session.send(RELEASE_UNUSED_CLAIMS, [...referenceArrays(tasks), nodeId]);
  session.send(RELEASE_UNUSED_WANTED, [nodeId, gates]);
  return releasedGates > 0;
}

/**
 * Releases the first claims of nodes that no longer exist. Returns whether there were any, and there may be more of them. A commit
 * claims tasks for its node without checking whether another node is taking over from it, so it can write a claim after the
 * takeover.
 */
export async function releaseLostClaims(database: Database, maxReleased = MAX_RELEASED_AT_ONCE): Promise<boolean> {
  const lostNodeIds = database.engine.isDistributed
    ? await readLostHolders(database)
    : (await database.query(SELECT_LOST_HOLDERS)).map(({ id }) => String(id));
  if (lostNodeIds.length === 0) return false;
  await database.transaction((session) => releaseClaimsOfNodes(session, lostNodeIds, maxReleased));
  return true;
}

/** Releases all gates and the first claims of these nodes. `releaseLostClaims` releases the other claims. */
export async function releaseClaimsOfNodes(
  session: TransactionSession,
  nodeIds: readonly string[],
  maxReleased = MAX_RELEASED_AT_ONCE,
): Promise<void> {
  if (session.engine.isDistributed) return releaseClaimsByInstance(session, nodeIds);
  session.send(RELEASE_GATES, [nodeIds]);
  session.send(RELEASE_CLAIMED_MESSAGES, [nodeIds]);
  session.send(RELEASE_CLAIMS, [nodeIds, maxReleased]);
  session.send(RELEASE_WANTED, [nodeIds]);
}
