/** Detects what the database supports. */
import type { Session, Statement } from '../connection/connection.js';
import { CITUS, type Engine, POSTGRESQL } from './engine.js';

/** Reads the distributed tables of the schema, if the server can have any. */
const HAS_CATALOG: Statement = { name: '', text: `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS found` };
const IS_DISTRIBUTED: Statement = {
  name: '',
  text: `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_dist_partition WHERE logicalrelid = to_regclass('task')) AS found`,
};

/** Returns what the database supports. Tables that are not distributed are used as on one server, whatever the server supports. */
export async function engineOf(session: Session): Promise<Engine> {
  const isTrue = async (question: Statement) => (await session.query(question))[0]?.found === true;
  return (await isTrue(HAS_CATALOG)) && (await isTrue(IS_DISTRIBUTED)) ? CITUS : POSTGRESQL;
}
