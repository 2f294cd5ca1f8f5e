/**
 * Rules for counting the stored bytes of a queue instance. The bytes of its contents count, and a fixed number for
 * each record, so that many small records count too. Every store uses these rules when it writes or deletes a record.
 * Keeps invariant 44.
 */
import type { CommitUnit } from '../../engine/writes.js';

/** Bytes that each record counts in addition to its contents. */
export const RECORD_BYTES = 512;

/**
 * Columns of each table whose bytes count. Each row is one record. The result of a run also counts, but is not a
 * separate record.
 */
export const STORED_COLUMNS = {
  payload: ['forward_headers', 'body'],
  step: ['out', 'sent'],
  attempt: ['exchange'],
  kept_event: ['content'],
  dead_letter: ['response_body'],
  schedule: ['forward_headers', 'body'],
} as const;

export type StoredTable = keyof typeof STORED_COLUMNS;

/** The tables whose rows belong to a run. */
export const STORED_TABLES_OF_RUN = ['payload', 'step', 'attempt', 'kept_event', 'dead_letter'] as const satisfies StoredTable[];

/** Returns SQL for the counted size of the row `alias` of the table. It is the same in every store. */
export const storedSql = (table: StoredTable, alias: string): string =>
  [RECORD_BYTES, ...STORED_COLUMNS[table].map((column) => `coalesce(octet_length(${alias}.${column}), 0)`)].join(' + ');

/** Returns the size of texts and bytes as they are written; null is an empty column. */
export function contentBytes(...contents: readonly (string | Uint8Array | null)[]): number {
  let sum = 0;
  for (const content of contents) {
    if (typeof content === 'string') sum += Buffer.byteLength(content);
    else if (content !== null) sum += content.length;
  }
  return sum;
}

type StoreWrite = CommitUnit['writes'][number];

/**
 * Returns the bytes that a write adds, as far as they are known without the store. It does not include data that the
 * write copies, replaces or deletes.
 */
export function bytesAdded(write: StoreWrite): number {
  switch (write.kind) {
    case 'record-step': {
      const { out, sent } = write.step;
      return RECORD_BYTES + contentBytes(out, sent ? JSON.stringify(sent) : null);
    }
    case 'create-run':
      return 'copyOf' in write.input
        ? 0
        : RECORD_BYTES + contentBytes(JSON.stringify(write.input.forwardHeaders), write.input.body);
    case 'end-run':
      return write.outcome.status === 'succeeded' ? contentBytes(write.outcome.result) : 0;
    case 'record-attempt': {
      const { exchange } = write.attempt;
      return RECORD_BYTES + contentBytes(exchange ? JSON.stringify(exchange) : null);
    }
    case 'keep-event':
      return RECORD_BYTES + contentBytes(JSON.stringify(write.event.content));
    case 'add-dead-letter':
      return RECORD_BYTES + contentBytes(write.entry.responseBody);
    default:
      return 0;
  }
}

/** Returns the change in the number of active runs. */
export const activeRunsAdded = ({ kind }: StoreWrite): number => (kind === 'create-run' ? 1 : kind === 'end-run' ? -1 : 0);

/** Stored bytes and active runs of one queue instance. */
export interface InstanceTotals {
  readonly instanceId: string;
  /** Name of its plan; null: the default plan. */
  readonly plan: string | null;
  readonly bytes: number;
  /** Number of runs and messages that have not ended. */
  readonly activeRuns: number;
}
