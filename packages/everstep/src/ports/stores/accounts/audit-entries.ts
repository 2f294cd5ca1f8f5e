/** Entries of the audit log that accounts add and read. */
import type { AccountId, AuditEntry } from './records.js';

/** Stores entries of the audit log. */
export interface AuditEntryStore {
  /** Adds an entry for an event that changed no record, such as a failed login. */
  addAudit(entry: AuditEntry): Promise<void>;
  /**
   * Lists entries that any of these accounts may read, newest first, after the entry `after`. If `accountIds` is null, lists all
   * entries, including those without an account.
   */
  listAudit(query: {
    readonly accountIds: readonly AccountId[] | null;
    readonly after: string | null;
    readonly limit: number;
  }): Promise<readonly AuditEntry[]>;
}
