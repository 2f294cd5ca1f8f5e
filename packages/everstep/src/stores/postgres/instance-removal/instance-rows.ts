/** Removes rows of a deleted queue instance, a few in each transaction. */
import { text } from '../connection/columns.js';
import { type Database, statement } from '../connection/connection.js';
import { TABLES_OF_INSTANCE, TABLES_OF_RUN, TABLES_REMOVED_FIRST } from './tables.js';

/** Returns a DELETE of some rows. In sharded tables, a `ctid` identifies a row only together with the instance. */
const deleteStatement = (table: string) =>
  statement(`
  DELETE FROM ${table} WHERE instance_id = $1 AND ctid = ANY(ARRAY(
    SELECT ctid FROM ${table} WHERE instance_id = $1 LIMIT $2))`);

/** `run` is emptied last, because it contains the keys of the rows in the directory. */
const DELETIONS = [...TABLES_REMOVED_FIRST, ...TABLES_OF_INSTANCE, ...TABLES_OF_RUN.filter((table) => table !== 'run')].map(
  deleteStatement,
);
const SELECT_RUNS = statement('SELECT run_key FROM run WHERE instance_id = $1 ORDER BY run_key LIMIT $2');
const DELETE_DIRECTORY = statement('DELETE FROM run_directory WHERE run_key = ANY($1::text[]) AND instance_id = $2');
const DELETE_RUNS = statement('DELETE FROM run WHERE instance_id = $1 AND run_key = ANY($2::text[])');

/** Removes at most `limit` rows and returns their number, which is 0 only if no rows are left. */
export async function removeInstanceRows(
  database: Database,
  { instanceId, limit }: { readonly instanceId: string; readonly limit: number },
): Promise<number> {
  for (const deletion of DELETIONS) {
    const removedCount = await database.transaction((session) => session.execute(deletion, [instanceId, limit]));
    if (removedCount > 0) return removedCount;
  }
  return database.transaction(async (session) => {
    const runKeys = (await session.query(SELECT_RUNS, [instanceId, limit])).map((row) => text(row, 'run_key'));
    if (runKeys.length === 0) return 0;
    session.send(DELETE_DIRECTORY, [runKeys, instanceId]);
    return session.execute(DELETE_RUNS, [instanceId, runKeys]);
  });
}
