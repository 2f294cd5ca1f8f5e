/** Locks and reads deduplication ids: which run has taken an id, and until when. */
import type { RunReference } from '../../../engine/writes.js';
import { integer, type Row, text } from '../connection/columns.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, unnest } from '../connection/row-sets.js';

const DEDUPLICATION_ID = { instance_id: 'text', deduplication_id: 'text' } as const satisfies Columns;

const fromIdsSql = (table: string) => `${unnest(DEDUPLICATION_ID)} AS u(${columnNames(DEDUPLICATION_ID)})
  JOIN deduplication ${table} ON ${table}.instance_id = u.instance_id AND ${table}.deduplication_id = u.deduplication_id`;

const LOCK = statement(`
  SELECT d.instance_id, d.deduplication_id FROM ${fromIdsSql('d')} ORDER BY d.instance_id, d.deduplication_id FOR UPDATE OF d`);
/** Reads the ids. It is sent after the lock, so that it sees what the previous holder of the lock wrote. */
const READ = statement(`
  SELECT d.instance_id, d.deduplication_id, d.expires_at, r.run_key, r.workflow_run_id, r.created_at
  FROM ${fromIdsSql('d')} JOIN run r ON r.instance_id = d.instance_id AND r.run_key = d.run_key`);

export interface DeduplicationId {
  readonly instanceId: string;
  readonly deduplicationId: string;
}

export interface TakenId {
  readonly run: RunReference;
  /** Time when the id expires, Unix ms. */
  readonly expiresAt: number;
}

export const deduplicationKeyOf = ({ instanceId, deduplicationId }: DeduplicationId): string =>
  `${instanceId}\n${deduplicationId}`;
const keyOfRow = (row: Row) =>
  deduplicationKeyOf({ instanceId: text(row, 'instance_id'), deduplicationId: text(row, 'deduplication_id') });

export interface LockedIds {
  /** Keys (`deduplicationKeyOf`) of the ids that have a row. */
  readonly existingKeys: Set<string>;
  readonly takenIds: Map<string, TakenId>;
}

/** Locks these ids, and returns which of them are taken. Sends its statements immediately. */
export async function lockDeduplicationIds(session: TransactionSession, ids: readonly DeduplicationId[]): Promise<LockedIds> {
  const idColumns = columnArrays(
    DEDUPLICATION_ID,
    ids.map(({ instanceId, deduplicationId }) => ({ instance_id: instanceId, deduplication_id: deduplicationId })),
  );
  const [lockedRows, rows] = await Promise.all([session.query(LOCK, idColumns), session.query(READ, idColumns)]);
  const takenIds = new Map<string, TakenId>();
  for (const row of rows) {
    const run = {
      runKey: text(row, 'run_key'),
      workflowRunId: text(row, 'workflow_run_id'),
      createdAt: integer(row, 'created_at'),
    };
    takenIds.set(keyOfRow(row), { run, expiresAt: integer(row, 'expires_at') });
  }
  return { existingKeys: new Set(lockedRows.map(keyOfRow)), takenIds };
}
