/** Writes queues, and reads the messages that are in them. */
import type { Queue } from '../../../engine/runs/run.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { QUEUE } from '../../shared/control/queues.js';
import { integer, text } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';
import { type ObjectKey, objectKeyArrays } from '../connection/row-sets.js';

export type QueueWrite = Extract<StoreWrite, { readonly kind: 'register-queue' | 'put-queue' | 'delete-queue' }>;

const WRITTEN_ROWS = `unnest($1::text[], $2::text[], $3::integer[], $4::boolean[], $5::bigint[], $6::bigint[])
  AS w (instance_id, name, parallelism, paused, created_at, updated_at)`;
const INSERT = 'INSERT INTO queue (instance_id, name, parallelism, paused, created_at, updated_at)';

/** Registers queues. A queue that exists is not locked, because every message registers its queue. */
const REGISTER = statement(`
  ${INSERT} SELECT w.* FROM ${WRITTEN_ROWS}
  WHERE NOT EXISTS (SELECT 1 FROM queue q WHERE q.instance_id = w.instance_id AND q.name = w.name)
  ORDER BY w.instance_id, w.name ON CONFLICT (instance_id, name) DO NOTHING`);
const PUT = statement(`
  ${INSERT} SELECT w.* FROM ${WRITTEN_ROWS} ORDER BY w.instance_id, w.name
  ON CONFLICT (instance_id, name) DO UPDATE SET parallelism = excluded.parallelism, paused = excluded.paused,
    created_at = excluded.created_at, updated_at = excluded.updated_at`);
const DELETE = statement(`
  DELETE FROM queue q USING unnest($1::text[], $2::text[]) AS w (instance_id, name)
  WHERE q.instance_id = w.instance_id AND q.name = w.name`);
const SELECT_QUEUES = statement(`
  SELECT q.* FROM queue q
  JOIN unnest($1::text[], $2::text[]) AS w (instance_id, name) ON q.instance_id = w.instance_id AND q.name = w.name`);
const COUNT_MESSAGES = statement('SELECT count(*) AS messages FROM active_run WHERE instance_id = $1 AND queue = $2');
const SELECT_RETRIED = statement(`
  SELECT t.run_key FROM task t JOIN active_run a ON a.instance_id = t.instance_id AND a.run_key = t.run_key
  WHERE t.instance_id = $1 AND t.queue = $2 AND t.retried > 0 AND t.due_at IS NOT NULL ORDER BY a.place`);

/** The combined change of all writes of a batch to one queue. `register` does not change a queue that exists. */
interface QueueChange {
  readonly instanceId: string;
  readonly name: string;
  readonly change: { readonly kind: 'register' | 'put'; readonly queue: Queue } | { readonly kind: 'delete' };
}

function changesOf(writes: readonly QueueWrite[]): readonly QueueChange[] {
  const changes = new Map<string, QueueChange>();
  for (const write of writes) {
    const { instanceId } = write;
    const name = write.kind === 'put-queue' ? write.queue.name : write.name;
    const key = `${instanceId}\n${name}`;
    if (write.kind === 'put-queue') changes.set(key, { instanceId, name, change: { kind: 'put', queue: write.queue } });
    else if (write.kind === 'delete-queue') changes.set(key, { instanceId, name, change: { kind: 'delete' } });
    else {
      const previousKind = changes.get(key)?.change.kind;
      const queue = { name, parallelism: 1, paused: false, createdAt: write.at, updatedAt: write.at };
      // A queue that is registered after its deletion is new, whatever existed before.
      if (previousKind === undefined) changes.set(key, { instanceId, name, change: { kind: 'register', queue } });
      else if (previousKind === 'delete') changes.set(key, { instanceId, name, change: { kind: 'put', queue } });
    }
  }
  return [...changes.values()];
}

/** Sends all writes of a batch, in their order, in at most three statements and without waiting. */
export function writeQueues(session: TransactionSession, writes: readonly QueueWrite[]): void {
  const changes = changesOf(writes);
  for (const [kind, insertion] of [['register', REGISTER] as const, ['put', PUT] as const]) {
    const rows = changes.flatMap(({ instanceId, change }) => (change.kind === kind ? [{ instanceId, ...change.queue }] : []));
    if (rows.length === 0) continue;
    session.send(insertion, [
      rows.map(({ instanceId }) => instanceId),
      rows.map(({ name }) => name),
      rows.map(({ parallelism }) => parallelism),
      rows.map(({ paused }) => paused),
      rows.map(({ createdAt }) => createdAt),
      rows.map(({ updatedAt }) => updatedAt),
    ]);
  }
  const deletedQueues = changes.filter(({ change }) => change.kind === 'delete');
  if (deletedQueues.length === 0) return;
  session.send(DELETE, [deletedQueues.map(({ instanceId }) => instanceId), deletedQueues.map(({ name }) => name)]);
}

/** Returns the queues that exist, with their instances. */
export async function readQueues(session: Session, references: readonly ObjectKey[]) {
  const rows = await session.query(SELECT_QUEUES, objectKeyArrays(references));
  return rows.map((row) => ({ instanceId: text(row, 'instance_id'), queue: QUEUE.read(row) }));
}

/** Returns the number of messages that have not ended. */
export async function countQueuedMessages(session: Session, instanceId: string, name: string): Promise<number> {
  const [row] = await session.query(COUNT_MESSAGES, [instanceId, name]);
  return row ? integer(row, 'messages') : 0;
}

/** Returns the keys of active messages that have failed before, in the order of their creation. */
export async function listRetriedMessages(session: Session, instanceId: string, name: string): Promise<readonly string[]> {
  return (await session.query(SELECT_RETRIED, [instanceId, name])).map((row) => text(row, 'run_key'));
}
