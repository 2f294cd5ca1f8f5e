/**
 * Counts the daily runs of each instance whose plan limits them, in one row per instance and day. A crash of the database server
 * may lose the latest counts, because no caller waits for the disk. Runs that were started are also counted in `day_count`.
 */
import { DAYS_KEPT } from '../../../ports/stores/account-store.js';
import type { SharedDailyRuns } from '../../../ports/stores/shared-daily-runs.js';
import { integer } from '../connection/columns.js';
import { type Database, statement } from '../connection/connection.js';

const COMMIT_WITHOUT_SYNC = statement(`SELECT set_config('synchronous_commit', 'off', true)`);
const STARTED_RUNS = `(SELECT coalesce(sum(c.count), 0)::bigint FROM day_count c
  WHERE c.instance_id = $1 AND c.day = $2 AND c.what = 'run')`;
/** Locks the row until the end of the transaction, so that the count that is read next is the latest. */
const LOCK = statement(`
  INSERT INTO day_taken (instance_id, day, runs) VALUES ($1, $2, 0)
  ON CONFLICT (instance_id, day) DO UPDATE SET runs = day_taken.runs`);
const TAKE = statement(`
  WITH known AS (
    SELECT greatest(t.runs, ${STARTED_RUNS}) AS runs FROM day_taken t WHERE t.instance_id = $1 AND t.day = $2
  ), taken AS (
    UPDATE day_taken t SET runs = known.runs + $3::bigint FROM known
    WHERE t.instance_id = $1 AND t.day = $2 AND known.runs + $3::bigint <= $4::bigint RETURNING t.runs
  )
  SELECT coalesce((SELECT runs FROM taken), (SELECT runs FROM known)) AS used, (SELECT count(*) FROM taken) AS taken`);
const DELETE_OLD = statement('DELETE FROM day_taken WHERE instance_id = $1 AND day < $2');
const RELEASE = statement(`
  UPDATE day_taken SET runs = greatest(0, runs - $3::bigint) WHERE instance_id = $1 AND day = $2`);
const SELECT_USED_RUNS = statement(`
  SELECT greatest(coalesce((SELECT t.runs FROM day_taken t WHERE t.instance_id = $1 AND t.day = $2), 0), ${STARTED_RUNS}) AS used`);

export function createSharedDailyRuns(database: Database): SharedDailyRuns {
  return {
    reserve: ({ instanceId, day, runs, max }) =>
      database.transaction(async (session) => {
        session.send(COMMIT_WITHOUT_SYNC);
        session.send(LOCK, [instanceId, day]);
        session.send(DELETE_OLD, [instanceId, day - DAYS_KEPT]);
        const [row] = await session.query(TAKE, [instanceId, day, runs, max]);
        if (!row)
          throw new Error(`the row of day ${day} of the queue instance ${instanceId} was removed while its runs were counted`);
        return { isReserved: integer(row, 'taken') === 1, used: integer(row, 'used') };
      }),
    async release({ instanceId, day, runs }) {
      await database.execute(RELEASE, [instanceId, day, runs]);
    },
    async used({ instanceId, day }) {
      const [row] = await database.query(SELECT_USED_RUNS, [instanceId, day]);
      return row ? integer(row, 'used') : 0;
    },
  };
}
