/** Checks the invariants of the data in a database, even while nodes use it. */
import type { Log } from '../../../ports/log.js';
import { type CheckResult, CONSISTENCY_CHECKS, countWithExamples, resultOf } from '../../shared/consistency/checks.js';
import { integer, text } from '../connection/columns.js';
import { Database, type Session, statement } from '../connection/connection.js';

/** Maximum duration of one check. A check of a large database can take many minutes. */
const MAX_CHECK_MS = 60 * 60_000;

const CHECKS = CONSISTENCY_CHECKS.map((check) => ({ check, sql: statement(countWithExamples(check.postgres)) }));

/** Checks all invariants. Requires the current schema. */
export async function checkConsistency(session: Session): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  for (const { check, sql } of CHECKS) {
    const rows = await session.query(sql);
    results.push(
      resultOf(
        check,
        rows.map((row) => ({ what: text(row, 'what'), violations: integer(row, 'violations') })),
      ),
    );
  }
  return results;
}

/** Checks one consistent state of the database. Rejects if it cannot be reached. */
export async function verifyDatabase(url: string, log: Log): Promise<readonly CheckResult[]> {
  const database = new Database({ url, log, maxConnections: 1, timeoutMs: MAX_CHECK_MS });
  try {
    return await database.snapshot(checkConsistency);
  } finally {
    await database.close();
  }
}
