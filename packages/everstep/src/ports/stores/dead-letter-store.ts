/** Dead letters in the store. */
import type { FailedBy } from '../../engine/failures/error-details.js';
import type { DeadLetter, RunPayload } from '../../engine/runs/run.js';
import type { DeadLetterFilter } from './filters.js';
import type { Listing, Page, Position } from './page.js';
import type { RunRecord } from './run-records.js';

/** A dead letter with properties of its run, without the bodies. */
export interface DeadLetterRecord extends Omit<DeadLetter, 'responseBody' | 'failedBy'> {
  /** Fingerprint of its group; null if it is not grouped yet, like entries of versions without groups. */
  readonly fingerprint: string | null;
  readonly run: RunRecord;
  readonly payload: Omit<RunPayload, 'body'>;
  readonly bodyBytes: number;
  /** Size of the response body and of `failedBy`. */
  readonly responseBytes: number;
  /** Position of the dead letter in a listing. */
  readonly position: Position;
}

export interface DeadLetterBodies {
  /** Body of the payload of its run. */
  readonly body: Uint8Array;
  readonly responseBody: Uint8Array;
  readonly failedBy: FailedBy | null;
}

export type FullDeadLetter = DeadLetterRecord & DeadLetterBodies;

/** Reads dead letters. */
export interface DeadLetterStore {
  listDeadLetters(query: Page<DeadLetterFilter>): Promise<Listing<DeadLetterRecord>>;
  /** Lists only ids, for bulk operations. */
  listDeadLetterIds(query: Page<DeadLetterFilter>): Promise<Listing<string>>;
  /** Returns the position after the newest existing entry. */
  deadLetterHorizon(query: { readonly instanceId: string }): Promise<Position>;
  findDeadLetter(query: { readonly instanceId: string; readonly dlqId: string }): Promise<DeadLetterRecord | null>;
  /** Returns the bodies of the entries that exist, by id. */
  loadDeadLetterBodies(query: {
    readonly instanceId: string;
    readonly dlqIds: readonly string[];
  }): Promise<ReadonlyMap<string, DeadLetterBodies>>;
}
