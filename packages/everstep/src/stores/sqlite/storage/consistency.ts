/** Checks the invariants over the file of an embedded store. */
import type { DatabaseSync } from 'node:sqlite';
import { type CheckResult, CONSISTENCY_CHECKS, countWithExamples, resultOf } from '../../shared/consistency/checks.js';
import { integer, text } from '../connection/columns.js';
import { checkChecksums } from '../runs/checksums.js';

/** Checks all invariants. Requires the current schema. */
export const checkConsistency = (database: Pick<DatabaseSync, 'prepare'>): readonly CheckResult[] => [
  ...CONSISTENCY_CHECKS.map((check) => {
    const rows = database.prepare(countWithExamples(check.sqlite)).all();
    return resultOf(
      check,
      rows.map((row) => ({ what: text(row, 'what'), violations: integer(row, 'violations') })),
    );
  }),
  checkChecksums(database),
];
