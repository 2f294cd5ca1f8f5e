/** Writes of deduplication ids. */
import type { WriteOf } from '../../../engine/writes.js';
import type { Applier, BatchContext } from '../commit/batch-context.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, insertInto, names, type RowOf, unnest } from '../connection/row-sets.js';
import { keyOf } from './deduplication-ids.js';

const TAKEN = { instance_id: 'text', deduplication_id: 'text', run_key: 'text', expires_at: 'bigint' } as const satisfies Columns;

/** Expired ids removed for each new one. More than one, so that their number decreases. */
const EXPIRED_PER_NEW = 4;

const INSERT = statement(`${insertInto('deduplication', TAKEN)} ORDER BY 1, 2`);
const UPDATE = statement(`
  UPDATE deduplication d SET run_key = u.run_key, expires_at = u.expires_at
  FROM ${unnest(TAKEN)} AS u(${names(TAKEN)})
  WHERE d.instance_id = u.instance_id AND d.deduplication_id = u.deduplication_id`);
const DELETE_EXPIRED = statement(`
  DELETE FROM deduplication WHERE (instance_id, deduplication_id) IN (
    SELECT instance_id, deduplication_id FROM deduplication WHERE expires_at <= $1
    ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`);

export class DeduplicationWrites implements Applier<WriteOf<'deduplication'>> {
  private readonly remembered = new Map<string, RowOf<typeof TAKEN>>();
  private asked = 0;
  private now = 0;

  apply(write: WriteOf<'deduplication'>, { state }: BatchContext): void {
    const { instanceId, deduplicationId, runKey, expiresAt } = write;
    const row = { instance_id: instanceId, deduplication_id: deduplicationId, run_key: runKey, expires_at: expiresAt };
    this.remembered.set(keyOf(write), row);
    state.deduplicationTaken(write, runKey, expiresAt);
  }

  /** Records that a guard checked an id at this time (Unix ms). Ids that expired before can be removed. */
  askedAt(now: number): void {
    this.asked++;
    this.now = Math.max(this.now, now);
  }

  /** If another transaction takes a new id at the same time, the primary key is violated and the batch is repeated. */
  send(session: TransactionSession, present: Set<string>): void {
    const inserted: RowOf<typeof TAKEN>[] = [];
    const updated: RowOf<typeof TAKEN>[] = [];
    for (const [key, row] of this.remembered) (present.has(key) ? updated : inserted).push(row);
    for (const key of this.remembered.keys()) present.add(key);
    if (inserted.length > 0) session.send(INSERT, columnArrays(TAKEN, inserted));
    if (updated.length > 0) session.send(UPDATE, columnArrays(TAKEN, updated));
    if (this.asked > 0) session.send(DELETE_EXPIRED, [this.now, this.asked * EXPIRED_PER_NEW]);
    this.remembered.clear();
    this.asked = 0;
  }
}
