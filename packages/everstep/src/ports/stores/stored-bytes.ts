/**
 * Rules for counting the stored bytes of a queue instance. The bytes of its contents count, plus a fixed number for each record,
 * so that many small records also count. Every store uses these rules when it writes or deletes a record.
 * Keeps invariant 44.
 */

import { RECORD_BYTES } from '../../engine/writes/stored-size.js';
import type { StoreWrite } from '../../engine/writes.js';

export { contentBytes, RECORD_BYTES } from '../../engine/writes/stored-size.js';

/**
 * The columns whose bytes count, by table. Each row is one record. The result of a run also counts, but is not a separate record.
 */
export const STORED_COLUMNS = {
  payload: ['forward_headers', 'body'],
  step: ['out', 'sent'],
  attempt: ['exchange', 'thrown'],
  kept_event: ['content'],
  dead_letter: ['response_body', 'failed_by'],
  schedule: ['forward_headers', 'body'],
} as const;

export type StoredTable = keyof typeof STORED_COLUMNS;

/** The tables whose rows belong to a run. */
export const STORED_TABLES_OF_RUN = ['payload', 'step', 'attempt', 'kept_event', 'dead_letter'] as const satisfies StoredTable[];

/** Returns SQL for the counted size of the row `alias` of the table. The SQL is the same in every store. */
export const storedBytesSql = (table: StoredTable, alias: string): string =>
  [RECORD_BYTES, ...STORED_COLUMNS[table].map((column) => `coalesce(octet_length(${alias}.${column}), 0)`)].join(' + ');

/** Returns the change in the number of active runs. */
export const activeRunsAdded = ({ kind }: StoreWrite): number => (kind === 'create-run' ? 1 : kind === 'end-run' ? -1 : 0);

/** Stored bytes and active runs of one queue instance. */
export interface InstanceTotals {
  readonly instanceId: string;
  /** Name of its plan; null for the default plan. */
  readonly plan: string | null;
  readonly bytes: number;
  /** Number of runs and messages that have not ended. */
  readonly activeRuns: number;
}
