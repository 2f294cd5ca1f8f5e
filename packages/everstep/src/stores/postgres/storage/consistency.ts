/** Checks the invariants of the data in a database, even while nodes use it. */
import type { Log } from '../../../ports/log.js';
import { type CheckResult, CONSISTENCY_CHECKS, countWithExamples, resultOf } from '../../shared/consistency/checks.js';
import { integer, text } from '../connection/columns.js';
import { Database, type Session, statement } from '../connection/connection.js';

/** Maximum duration of all checks. The checks of a large database can take hours. */
const MAX_CHECKS_MS = 24 * 60 * 60_000;

const CHECKS = CONSISTENCY_CHECKS.map((check) => ({ check, sql: statement(countWithExamples(check.postgres)) }));

/** Checks all invariants. Requires the current schema. All checks are sent at once, because a snapshot ends when they are sent. */
export const checkConsistency = (session: Session): Promise<readonly CheckResult[]> =>
  Promise.all(
    CHECKS.map(async ({ check, sql }) => {
      const rows = await session.query(sql);
      return resultOf(
        check,
        rows.map((row) => ({ what: text(row, 'what'), violations: integer(row, 'violations') })),
      );
    }),
  );

/** Checks one consistent state of the database. Rejects if it cannot be reached. */
export async function verifyDatabase(url: string, log: Log): Promise<readonly CheckResult[]> {
  const database = new Database({ url, log, maxConnections: 1, timeoutMs: MAX_CHECKS_MS, readsWholeTables: true });
  try {
    return await database.snapshot(checkConsistency);
  } finally {
    await database.close();
  }
}
