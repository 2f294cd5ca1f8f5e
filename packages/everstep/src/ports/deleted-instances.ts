/** Queue instances that were deleted. Their rows are removed in the background, a little at a time. */
import type { AuditEntry } from './account-store.js';

/** Times are Unix ms. */
export interface DeletedInstance {
  readonly instanceId: string;
  /** The account that owned it; null: no account did. */
  readonly accountId: string | null;
  readonly name: string;
  readonly region: string;
  readonly createdAt: number;
  readonly deletedAt: number;
  /** When no row of it was found for the first time; null: some are left. */
  readonly emptiedAt: number | null;
}

export interface DeletedInstanceStore {
  /**
   * Deletes the instance with its tokens, signing keys, budget alerts and schedules, and stops its repairs, in one transaction.
   * From then on it is not found. Its other rows stay until `Store.removeInstanceRows` removes them; what it was billed for
   * stays. False when there is none.
   */
  deleteInstance(query: { readonly instanceId: string; readonly at: number; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Those that are still looked after, by id. */
  listDeletedInstances(): Promise<readonly DeletedInstance[]>;
  /** No row was found. The first time counts. */
  noteEmptied(query: { readonly instanceId: string; readonly at: number }): Promise<void>;
  /** It need not be looked after any more. */
  forgetDeleted(query: { readonly instanceId: string }): Promise<void>;
}
