/** Deduplication ids: which are taken, by what, and until when. */
import type { RunReference } from '../../../ports/stores/store.js';
import { integer, type Row, text } from '../connection/columns.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, insertInto, names, type RowOf, unnest } from '../connection/row-sets.js';

const ID = { instance_id: 'text', deduplication_id: 'text' } as const satisfies Columns;
const TAKEN = { ...ID, run_key: 'text', expires_at: 'bigint' } as const satisfies Columns;

/** Expired ids removed per new one: more than one, so that they become fewer. */
const EXPIRED_PER_NEW = 4;

const of = (table: string) => `${unnest(ID)} AS u(${names(ID)})
  JOIN deduplication ${table} ON ${table}.instance_id = u.instance_id AND ${table}.deduplication_id = u.deduplication_id`;

const LOCK = statement(`
  SELECT d.instance_id, d.deduplication_id FROM ${of('d')} ORDER BY d.instance_id, d.deduplication_id FOR UPDATE OF d`);
/** Behind the lock, so that it sees what whoever held it before has written. */
const READ = statement(`
  SELECT d.instance_id, d.deduplication_id, d.expires_at, r.run_key, r.workflow_run_id, r.created_at
  FROM ${of('d')} JOIN run r ON r.instance_id = d.instance_id AND r.run_key = d.run_key`);
const INSERT = statement(`${insertInto('deduplication', TAKEN)} ORDER BY 1, 2`);
const UPDATE = statement(`
  UPDATE deduplication d SET run_key = u.run_key, expires_at = u.expires_at
  FROM ${unnest(TAKEN)} AS u(${names(TAKEN)})
  WHERE d.instance_id = u.instance_id AND d.deduplication_id = u.deduplication_id`);
const DELETE_EXPIRED = statement(`
  DELETE FROM deduplication WHERE (instance_id, deduplication_id) IN (
    SELECT instance_id, deduplication_id FROM deduplication WHERE expires_at <= $1
    ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`);

export interface DeduplicationId {
  readonly instanceId: string;
  readonly deduplicationId: string;
}

export interface TakenId {
  readonly run: RunReference;
  /** Unix ms. */
  readonly expiresAt: number;
}

export const keyOf = ({ instanceId, deduplicationId }: DeduplicationId): string => `${instanceId}\n${deduplicationId}`;
const keyOfRow = (row: Row) => keyOf({ instanceId: text(row, 'instance_id'), deduplicationId: text(row, 'deduplication_id') });

export interface LockedIds {
  /** Ids that have a row, by keyOf. */
  readonly present: Set<string>;
  readonly taken: Map<string, TakenId>;
}

/** Locks these ids, and tells which are taken. Sends its statements at once. */
export async function lockDeduplicationIds(session: TransactionSession, ids: readonly DeduplicationId[]): Promise<LockedIds> {
  const values = columnArrays(
    ID,
    ids.map(({ instanceId, deduplicationId }) => ({ instance_id: instanceId, deduplication_id: deduplicationId })),
  );
  const [locked, read] = await Promise.all([session.query(LOCK, values), session.query(READ, values)]);
  const taken = new Map<string, TakenId>();
  for (const row of read) {
    const run = {
      runKey: text(row, 'run_key'),
      workflowRunId: text(row, 'workflow_run_id'),
      createdAt: integer(row, 'created_at'),
    };
    taken.set(keyOfRow(row), { run, expiresAt: integer(row, 'expires_at') });
  }
  return { present: new Set(locked.map(keyOfRow)), taken };
}

export class DeduplicationWrites {
  private readonly remembered = new Map<string, RowOf<typeof TAKEN>>();
  private asked = 0;
  private now = 0;

  remember(id: DeduplicationId, runKey: string, expiresAt: number): void {
    const { instanceId, deduplicationId } = id;
    const row = { instance_id: instanceId, deduplication_id: deduplicationId, run_key: runKey, expires_at: expiresAt };
    this.remembered.set(keyOf(id), row);
  }

  /** That an id was asked for at this time (Unix ms): what expired before may go. */
  askedAt(now: number): void {
    this.asked++;
    this.now = Math.max(this.now, now);
  }

  /** A new id that somebody else takes at the same time violates the key of the table: then the batch is done again. */
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
