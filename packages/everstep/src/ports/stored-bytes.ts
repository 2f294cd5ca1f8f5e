/**
 * What the stored data of a queue instance counts: the bytes of its contents, and a fixed number for each record, so that
 * many small records count too. Every store counts with these rules, when a record is written and when it is deleted.
 */
import type { CommitUnit } from '../engine/writes.js';

/** What each record counts besides its contents. */
export const RECORD_BYTES = 512;

/**
 * The columns of each table whose bytes count; each row is one record. The result of a run counts as well, and is no record
 * of its own.
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

/** SQL, the same in every store: what the row `alias` of the table counts. */
export const storedSql = (table: StoredTable, alias: string): string =>
  [RECORD_BYTES, ...STORED_COLUMNS[table].map((column) => `coalesce(octet_length(${alias}.${column}), 0)`)].join(' + ');

/** Of texts and bytes as they are written; null is an empty column. */
export function contentBytes(...contents: readonly (string | Uint8Array | null)[]): number {
  let sum = 0;
  for (const content of contents) {
    if (typeof content === 'string') sum += Buffer.byteLength(content);
    else if (content !== null) sum += content.length;
  }
  return sum;
}

type StoreWrite = CommitUnit['writes'][number];

/** What a write adds, as far as that can be seen without the store: what it copies, replaces or deletes is not in this. */
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

/** By how many the active runs become more. */
export const activeRunsAdded = ({ kind }: StoreWrite): number => (kind === 'create-run' ? 1 : kind === 'end-run' ? -1 : 0);

/** What one queue instance of an account stores. */
export interface InstanceTotals {
  readonly instanceId: string;
  /** Name of its plan; null: the default plan. */
  readonly plan: string | null;
  readonly bytes: number;
  /** Runs and messages that have not ended. */
  readonly activeRuns: number;
}
