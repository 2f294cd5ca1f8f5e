/**
 * Checksums of the values that are handed to the code of runs: results of steps, and bodies. The file has no checksums of its
 * pages, so a byte that the disk changed inside a value would otherwise go unnoticed.
 */
import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { DamagedValueError } from '../../../ports/damaged-value.js';
import { type CheckResult, MAX_EXAMPLES } from '../../shared/consistency/checks.js';
import { integer, type Row, text } from '../connection/columns.js';

type Value = string | Uint8Array;

/** Returns the checksum in the form of the column: signed, so that it takes at most 4 bytes. Returns null if there is no value. */
export const checksumOf = (value: Value | null): number | null => (value === null ? null : crc32(value) | 0);

/** Returns whether the value is unchanged. True if it has no checksum, because an earlier version wrote it. */
const isUnchanged = (value: unknown, checksum: unknown): boolean =>
  typeof checksum !== 'number' || ((typeof value === 'string' || value instanceof Uint8Array) && checksumOf(value) === checksum);

/** Returns the row. Throws DamagedValueError if the value in `column` has changed since it was written. */
export function verifyRow(row: Row, column: string, checksumColumn: string, describe: () => string): Row {
  if (isUnchanged(row[column], row[checksumColumn])) return row;
  throw new DamagedValueError(`${describe()} is damaged: its checksum in the store does not match; run everstep verify`);
}

const CHECKED_VALUES = [
  `SELECT r.key || ', step ' || s.step_id AS what, s.out AS value, s.out_crc AS checksum
   FROM step s JOIN run r ON r.seq = s.run_seq WHERE s.out_crc IS NOT NULL`,
  `SELECT r.key || ', payload' AS what, p.body AS value, p.body_crc AS checksum
   FROM payload p JOIN run r ON r.seq = p.run_seq WHERE p.body_crc IS NOT NULL`,
];

/** Compares all values with their checksums. */
export function checkChecksums(database: Pick<DatabaseSync, 'prepare'>): CheckResult {
  const examples: string[] = [];
  let violations = 0;
  for (const sql of CHECKED_VALUES)
    for (const row of database.prepare(sql).iterate()) {
      if (isUnchanged(row.value, integer(row, 'checksum'))) continue;
      violations++;
      if (examples.length < MAX_EXAMPLES) examples.push(text(row, 'what'));
    }
  return { id: 'values-unchanged', rule: 'Step results and bodies are as they were written.', violations, examples };
}
