/**
 * Handles journals that are copied in slices, each in its own transaction, to the key of a run that will be created. A copy is not
 * visible before its run is created. If the run will not be created, the copy is also deleted in slices.
 * Keeps invariant 45.
 */
import { LIMITS } from '../../../config/limits.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import { integerOrNull, text } from '../connection/columns.js';
import { type Database, statement, type TransactionSession } from '../connection/connection.js';
import { changeAndCountBytesSql } from './stored-bytes.js';

export type StagingWrite = Extract<StoreWrite, { readonly kind: 'adopt-journal' | 'abandon-journal' }>;

/** A process that copies a journal updates its row with each slice. Without an update for this long, the copy is abandoned. */
const ABANDONED_AFTER_MS = 3_600_000;
const NOW_MS = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

const STAGE = statement(`
  INSERT INTO staged_journal (instance_id, run_key, staged_at)
  SELECT instance_id, run_key, ${NOW_MS} FROM unnest($1::text[], $2::text[]) AS w (instance_id, run_key)
  ON CONFLICT (instance_id, run_key) DO UPDATE SET staged_at = excluded.staged_at`);
/** Assigns the journal to the run. Fails with a division by zero if part of it is missing or the copy was abandoned. */
const ADOPT = statement(`
  WITH adopted AS (DELETE FROM staged_journal WHERE instance_id = $1 AND run_key = $2 AND NOT gone RETURNING run_key)
  SELECT 1 / (CASE WHEN EXISTS (SELECT 1 FROM adopted)
    AND (SELECT count(*) FROM step WHERE instance_id = $1 AND run_key = $2) = $3::integer THEN 1 ELSE 0 END)`);
const ABANDON = statement('UPDATE staged_journal SET gone = true WHERE instance_id = $1 AND run_key = $2');
const ABANDON_OLD = statement(`
  UPDATE staged_journal SET gone = true
  WHERE NOT gone AND staged_at < floor(extract(epoch FROM now()) * 1000)::bigint - ${ABANDONED_AFTER_MS}`);
const FIND_GONE = statement('SELECT instance_id, run_key FROM staged_journal WHERE gone LIMIT 1');
const LOCK_GONE = statement(`
  SELECT run_key FROM staged_journal WHERE instance_id = $1 AND run_key = $2 AND gone FOR UPDATE SKIP LOCKED`);
const SELECT_SLICE = statement(`
  SELECT max(idx) AS last FROM (
    SELECT idx, sum(bytes) OVER (ORDER BY idx) - bytes AS bytes_before FROM (
      SELECT s.idx, ${storedBytesSql('step', 's')} AS bytes FROM step s
      WHERE s.instance_id = $1 AND s.run_key = $2 ORDER BY s.idx LIMIT ${LIMITS.partRows}) steps) summed
  WHERE bytes_before < ${LIMITS.partBytes}`);
const DELETE_SLICE = statement(
  changeAndCountBytesSql(
    `DELETE FROM step s WHERE s.instance_id = $1 AND s.run_key = $2 AND s.idx <= $3
     RETURNING s.instance_id, ${storedBytesSql('step', 's')} AS bytes`,
    '-',
  ),
);
const DELETE_STAGING = statement('DELETE FROM staged_journal WHERE instance_id = $1 AND run_key = $2');

/** Records that journals are being copied for runs that will be created. */
export function recordStagedRuns(session: TransactionSession, runs: readonly { instanceId: string; runKey: string }[]): void {
  session.send(STAGE, [runs.map(({ instanceId }) => instanceId), runs.map(({ runKey }) => runKey)]);
}

export function writeStagings(session: TransactionSession, writes: readonly StagingWrite[]): void {
  for (const write of writes) {
    const { instanceId, runKey } = write;
    if (write.kind === 'adopt-journal') session.send(ADOPT, [instanceId, runKey, write.steps]);
    else session.send(ABANDON, [instanceId, runKey]);
  }
}

/** Deletes a slice of staged steps that are no longer needed. Returns false if none are left or another process deletes them. */
export async function removeStagedSteps(database: Database): Promise<boolean> {
  await database.execute(ABANDON_OLD);
  return database.transaction(async (session) => {
    const [goneRow] = await session.query(FIND_GONE);
    if (!goneRow) return false;
    const run = [text(goneRow, 'instance_id'), text(goneRow, 'run_key')];
    if ((await session.query(LOCK_GONE, run)).length === 0) return false;
    const [sliceRow] = await session.query(SELECT_SLICE, run);
    const lastIndex = sliceRow ? integerOrNull(sliceRow, 'last') : null;
    if (lastIndex === null) session.send(DELETE_STAGING, run);
    else session.send(DELETE_SLICE, [...run, lastIndex]);
    return true;
  });
}
