/** Detects the features of the database. */
import type { Log } from '../../../ports/log.js';
import type { Session, Statement } from '../connection/connection.js';
import { citus, type Engine, POSTGRESQL } from './engine.js';
import { type ClusterConnection, ShardServers } from './shard-servers.js';

/** Selects whether the database server can have distributed tables. */
const HAS_CATALOG: Statement = { name: '', text: `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS found` };
const IS_DISTRIBUTED: Statement = {
  name: '',
  text: `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_dist_partition WHERE logicalrelid = to_regclass('task')) AS found`,
};

/** Returns the features of the database. If the tables are not distributed, they are used as on one server, even with Citus. */
export async function engineOf(session: Session & ClusterConnection, log: Log): Promise<Engine> {
  const isTrue = async (statement: Statement) => (await session.query(statement))[0]?.found === true;
  return (await isTrue(HAS_CATALOG)) && (await isTrue(IS_DISTRIBUTED)) ? citus(new ShardServers(session, log)) : POSTGRESQL;
}
