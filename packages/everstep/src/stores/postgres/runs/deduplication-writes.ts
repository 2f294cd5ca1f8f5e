/** Writes deduplication ids, and removes expired ones. */
import type { WriteOf } from '../../../engine/writes.js';
import type { Applier, BatchContext } from '../commit/batch-context.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, insertInto, type RowOf, unnest } from '../connection/row-sets.js';
import { deduplicationKeyOf } from './deduplication-ids.js';

const DEDUPLICATION = {
  instance_id: 'text',
  deduplication_id: 'text',
  run_key: 'text',
  expires_at: 'bigint',
} as const satisfies Columns;

/** Number of expired ids that are removed for each checked id. It is above 1, so that the number of expired ids decreases. */
const EXPIRED_PER_CHECK = 4;

const INSERT = statement(`${insertInto('deduplication', DEDUPLICATION)} ORDER BY 1, 2`);
const UPDATE = statement(`
  UPDATE deduplication d SET run_key = u.run_key, expires_at = u.expires_at
  FROM ${unnest(DEDUPLICATION)} AS u(${columnNames(DEDUPLICATION)})
  WHERE d.instance_id = u.instance_id AND d.deduplication_id = u.deduplication_id`);
const deleteExpiredStatement = (instanceCondition: string) =>
  statement(`
  DELETE FROM deduplication WHERE ${instanceCondition} (instance_id, deduplication_id) IN (
    SELECT instance_id, deduplication_id FROM deduplication WHERE ${instanceCondition} expires_at <= $1
    ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`);
const DELETE_EXPIRED = deleteExpiredStatement('');
const DELETE_EXPIRED_OF_INSTANCE = deleteExpiredStatement('instance_id = $3 AND');

export class DeduplicationWrites implements Applier<WriteOf<'deduplication'>> {
  /** Rows to write, by key. */
  private readonly rows = new Map<string, RowOf<typeof DEDUPLICATION>>();
  /** Number of checked ids of each instance. */
  private readonly checkCounts = new Map<string, number>();
  /** Latest time of a check, Unix ms. */
  private latestCheckAt = 0;

  apply(write: WriteOf<'deduplication'>, { state }: BatchContext): void {
    const { instanceId, deduplicationId, runKey, expiresAt } = write;
    const row = { instance_id: instanceId, deduplication_id: deduplicationId, run_key: runKey, expires_at: expiresAt };
    this.rows.set(deduplicationKeyOf(write), row);
    state.takeDeduplicationId(write, runKey, expiresAt);
  }

  /** Records that a guard checked an id of the instance at this time (Unix ms). Ids that expired before can be removed. */
  recordCheck(instanceId: string, now: number): void {
    this.checkCounts.set(instanceId, (this.checkCounts.get(instanceId) ?? 0) + 1);
    this.latestCheckAt = Math.max(this.latestCheckAt, now);
  }

  /** Sends the writes. If another transaction takes a new id first, the primary key is violated and the batch is repeated. */
  send(session: TransactionSession, existingKeys: Set<string>): void {
    const insertedRows: RowOf<typeof DEDUPLICATION>[] = [];
    const updatedRows: RowOf<typeof DEDUPLICATION>[] = [];
    for (const [key, row] of this.rows) (existingKeys.has(key) ? updatedRows : insertedRows).push(row);
    for (const key of this.rows.keys()) existingKeys.add(key);
    if (insertedRows.length > 0) session.send(INSERT, columnArrays(DEDUPLICATION, insertedRows));
    if (updatedRows.length > 0) session.send(UPDATE, columnArrays(DEDUPLICATION, updatedRows));
    if (this.checkCounts.size > 0) this.deleteExpired(session);
    this.rows.clear();
    this.checkCounts.clear();
  }

  private deleteExpired(session: TransactionSession): void {
    if (session.engine.isDistributed) {
      for (const [instanceId, checkCount] of this.checkCounts)
        session.send(DELETE_EXPIRED_OF_INSTANCE, [this.latestCheckAt, checkCount * EXPIRED_PER_CHECK, instanceId]);
      return;
    }
    const total = [...this.checkCounts.values()].reduce((sum, count) => sum + count, 0);
    session.send(DELETE_EXPIRED, [this.latestCheckAt, total * EXPIRED_PER_CHECK]);
  }
}
