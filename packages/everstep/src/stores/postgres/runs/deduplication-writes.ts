/** Writes of deduplication ids. */
import type { WriteOf } from '../../../engine/writes.js';
import type { Applier, BatchContext } from '../commit/batch-context.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, insertInto, type RowOf, unnest } from '../connection/row-sets.js';
import { keyOf } from './deduplication-ids.js';

const TAKEN = { instance_id: 'text', deduplication_id: 'text', run_key: 'text', expires_at: 'bigint' } as const satisfies Columns;

/** Expired ids removed for each new one. More than one, so that their number decreases. */
const EXPIRED_PER_NEW = 4;

const INSERT = statement(`${insertInto('deduplication', TAKEN)} ORDER BY 1, 2`);
const UPDATE = statement(`
  UPDATE deduplication d SET run_key = u.run_key, expires_at = u.expires_at
  FROM ${unnest(TAKEN)} AS u(${columnNames(TAKEN)})
  WHERE d.instance_id = u.instance_id AND d.deduplication_id = u.deduplication_id`);
const deleteExpired = (ofInstance: string) =>
  statement(`
  DELETE FROM deduplication WHERE ${ofInstance} (instance_id, deduplication_id) IN (
    SELECT instance_id, deduplication_id FROM deduplication WHERE ${ofInstance} expires_at <= $1
    ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`);
const DELETE_EXPIRED = deleteExpired('');
const DELETE_EXPIRED_OF_INSTANCE = deleteExpired('instance_id = $3 AND');

export class DeduplicationWrites implements Applier<WriteOf<'deduplication'>> {
  private readonly remembered = new Map<string, RowOf<typeof TAKEN>>();
  /** Number of ids that were checked, by instance. */
  private readonly checkedIds = new Map<string, number>();
  private now = 0;

  apply(write: WriteOf<'deduplication'>, { state }: BatchContext): void {
    const { instanceId, deduplicationId, runKey, expiresAt } = write;
    const row = { instance_id: instanceId, deduplication_id: deduplicationId, run_key: runKey, expires_at: expiresAt };
    this.remembered.set(keyOf(write), row);
    state.deduplicationTaken(write, runKey, expiresAt);
  }

  /** Records that a guard checked an id of the instance at this time (Unix ms). Ids that expired before can be removed. */
  noteCheck(instanceId: string, now: number): void {
    this.checkedIds.set(instanceId, (this.checkedIds.get(instanceId) ?? 0) + 1);
    this.now = Math.max(this.now, now);
  }

  /** Sends the writes. If another transaction takes a new id first, the primary key is violated and the batch is repeated. */
  send(session: TransactionSession, present: Set<string>): void {
    const inserted: RowOf<typeof TAKEN>[] = [];
    const updated: RowOf<typeof TAKEN>[] = [];
    for (const [key, row] of this.remembered) (present.has(key) ? updated : inserted).push(row);
    for (const key of this.remembered.keys()) present.add(key);
    if (inserted.length > 0) session.send(INSERT, columnArrays(TAKEN, inserted));
    if (updated.length > 0) session.send(UPDATE, columnArrays(TAKEN, updated));
    if (this.checkedIds.size > 0) this.deleteExpired(session);
    this.remembered.clear();
    this.checkedIds.clear();
  }

  private deleteExpired(session: TransactionSession): void {
    if (session.engine.isDistributed) {
      for (const [instanceId, checked] of this.checkedIds)
        session.send(DELETE_EXPIRED_OF_INSTANCE, [this.now, checked * EXPIRED_PER_NEW, instanceId]);
      return;
    }
    const total = [...this.checkedIds.values()].reduce((sum, count) => sum + count, 0);
    session.send(DELETE_EXPIRED, [this.now, total * EXPIRED_PER_NEW]);
  }
}
