/** Detects the features of the database. */
import type { Log } from '../../../ports/log.js';
import type { Database, Session, Statement } from '../connection/connection.js';
import { LOCK_CLASS } from '../connection/migrate.js';
import { citus, type Engine, POSTGRESQL } from './engine.js';
import { type ClusterConnection, ShardServers } from './shard-servers.js';

/** Selects whether the database server can have distributed tables. */
const HAS_CATALOG: Statement = { name: '', text: `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS found` };
const IS_DISTRIBUTED: Statement = {
  name: '',
  text: `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_dist_partition WHERE logicalrelid = to_regclass('task')) AS found`,
};

/** Waits while another process distributes the tables, and prevents that until the connection is closed. */
const LOCK_SHARED = 'SELECT pg_advisory_lock_shared($1, hashtext(current_schema()))';

const isTrue = async (session: Session, statement: Statement) => (await session.query(statement))[0]?.found === true;

/** Returns the features of the database. If the tables are not distributed, they are used as on one server, even with Citus. */
export async function detectEngine(session: Session & ClusterConnection, log: Log): Promise<Engine> {
  const isDistributed = (await isTrue(session, HAS_CATALOG)) && (await isTrue(session, IS_DISTRIBUTED));
  return isDistributed ? citus(new ShardServers(session, log)) : POSTGRESQL;
}

/**
 * Runs `join`, with which the node becomes visible to a process that distributes the tables. Rejects if the tables were distributed
 * after the features of the database were detected: this node would use them as if they were on one server.
 */
export async function joinWithDetectedEngine<Result>(database: Database, join: () => Promise<Result>): Promise<Result> {
  if (database.engine.isDistributed || !(await isTrue(database, HAS_CATALOG))) return join();
  return database.withConnection(async (client) => {
    await client.query(LOCK_SHARED, [LOCK_CLASS]);
    const { rows } = await client.query<{ readonly found: boolean }>(IS_DISTRIBUTED.text);
    if (rows[0]?.found) throw new Error('the tables were distributed while this node started; start the node again');
    return join();
  });
}
