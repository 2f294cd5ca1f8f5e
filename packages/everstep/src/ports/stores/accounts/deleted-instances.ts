/** Queue instances that were deleted. Their rows are removed in the background in small steps. */
import type { AuditEntry } from './records.js';

/** A deleted instance. Times are Unix ms. */
export interface DeletedInstance {
  readonly instanceId: string;
  /** The account that owned the instance; null if none did. */
  readonly accountId: string | null;
  readonly name: string;
  readonly region: string;
  readonly createdAt: number;
  readonly deletedAt: number;
  /** Time when no remaining row was found for the first time; null while rows may remain. */
  readonly emptiedAt: number | null;
}

export interface DeletedInstanceStore {
  /**
   * Deletes the instance with its tokens, signing keys, budget alerts and schedules, and stops its repairs, in one
   * transaction. From then on it cannot be found. `Store.removeInstanceRows` removes its other rows; billing data is
   * kept. Returns false if there is none.
   */
  deleteInstance(query: { readonly instanceId: string; readonly at: number; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Lists deleted instances that are still being cleaned up, by id. */
  listDeletedInstances(): Promise<readonly DeletedInstance[]>;
  /** Records that no remaining row was found. Only the first call has an effect. */
  markEmptied(query: { readonly instanceId: string; readonly at: number }): Promise<void>;
  /** Ends the cleanup of the instance. */
  removeDeletedInstance(query: { readonly instanceId: string }): Promise<void>;
}
