/** Work that one process at a time does, whichever of those on the same schema: the others wait for it. */
import type { Database } from './connection.js';

/** "EVSU": marks the lock as ours, beside that of the migrations. The schema is the second half of it. */
const LOCK_CLASS = 0x45565355;
/** Before the client itself gives up on an answer. */
const LONGEST_WAIT = '40s';
const LOCK_TIMEOUT = '55P03';
const CANCELED = '57014';

/** The lock ends with its connection: nobody keeps it by being killed. */
export function exclusively<Result>(database: Database, work: () => Promise<Result>): Promise<Result> {
  return database.withConnection(async (client) => {
    await client.query(`SET statement_timeout = 0; SET lock_timeout = '${LONGEST_WAIT}'`);
    try {
      await client.query('SELECT pg_advisory_lock($1, hashtext(current_schema()))', [LOCK_CLASS]);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code !== LOCK_TIMEOUT && code !== CANCELED) throw error;
      throw new Error(`another process on the database has been at its start for more than ${LONGEST_WAIT}; start again later`, {
        cause: error,
      });
    }
    return work();
  });
}
