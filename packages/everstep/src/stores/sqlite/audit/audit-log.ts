/** The audit log: entries are added, in the transaction of the change that they tell of, and read. Nothing else is possible. */
import type { StatementSync } from 'node:sqlite';
import type { AccountId, AuditEntry } from '../../../ports/stores/account-store.js';
import { integer } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';
import { AuditChain } from './audit-chain.js';
import { entryOf } from './entry-rows.js';

/** More than one only while entries of versions without a chain are left. */
const SEALED_AT_ONCE = 100;

export class AuditLog {
  private readonly insertEntry: StatementSync;
  private readonly insertReader: StatementSync;
  private readonly selectSeq: StatementSync;
  private readonly selectNewest: StatementSync;
  private readonly selectEntry: StatementSync;
  private readonly selectAll: StatementSync;
  private readonly chain: AuditChain;

  constructor(connection: Connection) {
    this.insertEntry = connection.prepare(
      `INSERT INTO audit_log (audit_id, at, actor, action, subject, address, account_ids, details, request)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.insertReader = connection.prepare(
      'INSERT INTO audit_reader (account_id, entry_seq) VALUES (?, ?) ON CONFLICT (account_id, entry_seq) DO NOTHING',
    );
    this.selectSeq = connection.prepare('SELECT seq FROM audit_log WHERE audit_id = ?');
    this.selectNewest = connection.prepare(
      'SELECT entry_seq FROM audit_reader WHERE account_id = ? AND entry_seq < ? ORDER BY entry_seq DESC LIMIT ?',
    );
    this.selectEntry = connection.prepare('SELECT * FROM audit_log WHERE seq = ?');
    this.selectAll = connection.prepare('SELECT * FROM audit_log WHERE seq < ? ORDER BY seq DESC LIMIT ?');
    this.chain = new AuditChain(connection);
  }

  /** Only inside a transaction. Throws when there is an entry with this id. */
  add(entry: AuditEntry): void {
    const { auditId, at, actor, action, subject, address } = entry;
    const [accountIds, details] = [JSON.stringify(entry.accountIds), JSON.stringify(entry.details)];
    const request = entry.request === undefined ? null : JSON.stringify(entry.request);
    const texts = [accountIds, details, request] as const;
    const { lastInsertRowid } = this.insertEntry.run(auditId, at, actor, action, subject, address, ...texts);
    for (const accountId of entry.accountIds) this.insertReader.run(accountId, lastInsertRowid);
    this.chain.seal(SEALED_AT_ONCE);
  }

  /**
   * Newest first: in the order in which entries were added, so that a page goes on where the last one ended, whatever is
   * added in between. Reads at most `limit` index rows of each account; null: all entries, of all accounts and of none.
   * Nothing when there is no entry `after`.
   */
  list(accountIds: readonly AccountId[] | null, after: string | null, limit: number): readonly AuditEntry[] {
    const before = after === null ? Number.MAX_SAFE_INTEGER : this.seqOf(after);
    if (before === null) return [];
    if (accountIds === null) return this.selectAll.all(before, limit).map(entryOf);
    const seqs = new Set<number>();
    for (const accountId of new Set(accountIds))
      for (const row of this.selectNewest.all(accountId, before, limit)) seqs.add(integer(row, 'entry_seq'));
    return [...seqs]
      .sort((a, b) => b - a)
      .slice(0, limit)
      .flatMap((seq) => {
        const row = this.selectEntry.get(seq);
        return row ? [entryOf(row)] : [];
      });
  }

  private seqOf(auditId: string): number | null {
    const row = this.selectSeq.get(auditId);
    return row ? integer(row, 'seq') : null;
  }
}
