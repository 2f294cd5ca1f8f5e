/** Records of search indexes: few rows, rarely changed; each method is one durable transaction, with its audit entry in it. */
import type { StatementSync } from 'node:sqlite';
import type { AuditEntry } from '../../../ports/stores/account-store.js';
import { SEARCH_TYPES, type SearchIndexRecord, type SearchIndexStore } from '../../../ports/stores/search-store.js';
import { type AccountChange, createAccountChange, createAccountCheck } from '../accounts/account-change.js';
import { integer, type Row, text, textOrNull, word } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

function hashesOf(row: Row): Pick<SearchIndexRecord, 'tokenHashes'> {
  const [readWrite, readOnly] = [textOrNull(row, 'read_write_hash'), textOrNull(row, 'read_only_hash')];
  return readWrite === null || readOnly === null ? {} : { tokenHashes: { readWrite, readOnly } };
}

const recordOf = (row: Row): SearchIndexRecord => ({
  indexId: text(row, 'index_id'),
  accountId: text(row, 'account_id'),
  name: text(row, 'name'),
  region: text(row, 'region'),
  type: word(row, 'type', SEARCH_TYPES),
  createdAt: integer(row, 'created_at'),
  derivedNumber: integer(row, 'token_number'),
  ...hashesOf(row),
});

export class SqliteSearchIndexes implements SearchIndexStore {
  private readonly inTransaction: AccountChange;
  private readonly requireAccount: (accountId: string) => void;
  private readonly insert: StatementSync;
  private readonly select: StatementSync;
  private readonly selectOfAccounts: StatementSync;
  private readonly selectIds: StatementSync;
  private readonly update: StatementSync;
  private readonly updateDerived: StatementSync;
  private readonly updateDeleted: StatementSync;
  private readonly delete: StatementSync;

  constructor(connection: Connection) {
    this.inTransaction = createAccountChange(connection);
    this.requireAccount = createAccountCheck(connection);
    this.insert = connection.prepare(
      `INSERT INTO search_index (index_id, account_id, name, region, type, created_at, token_number, read_write_hash, read_only_hash)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.select = connection.prepare('SELECT * FROM search_index WHERE index_id = ? AND deleted = 0');
    this.selectOfAccounts = connection.prepare(
      'SELECT * FROM search_index WHERE account_id IN (SELECT value FROM json_each(?)) AND deleted = 0 ORDER BY seq',
    );
    this.selectIds = connection.prepare('SELECT index_id FROM search_index WHERE deleted = ? ORDER BY seq');
    this.update = connection.prepare(
      `UPDATE search_index SET account_id = coalesce(?, account_id), name = coalesce(?, name),
       read_write_hash = coalesce(?, read_write_hash), read_only_hash = coalesce(?, read_only_hash)
       WHERE index_id = ? AND deleted = 0 RETURNING *`,
    );
    this.updateDerived = connection.prepare(
      'UPDATE search_index SET read_write_hash = ?, read_only_hash = ? WHERE index_id = ? AND read_write_hash IS NULL',
    );
    this.updateDeleted = connection.prepare('UPDATE search_index SET deleted = 1 WHERE index_id = ? AND deleted = 0');
    this.delete = connection.prepare('DELETE FROM search_index WHERE index_id = ? AND deleted = 1');
  }

  create(index: SearchIndexRecord, audit?: AuditEntry): Promise<void> {
    const { indexId, accountId, name, region, type, createdAt, derivedNumber, tokenHashes } = index;
    return this.inTransaction(() => {
      this.requireAccount(accountId);
      const hashes = [tokenHashes?.readWrite ?? null, tokenHashes?.readOnly ?? null];
      this.insert.run(indexId, accountId, name, region, type, createdAt, derivedNumber, ...hashes);
    }, audit);
  }

  async find({ indexId }: { readonly indexId: string }): Promise<SearchIndexRecord | null> {
    const row = this.select.get(indexId);
    return row ? recordOf(row) : null;
  }

  async list({ accountIds }: { readonly accountIds: readonly string[] }): Promise<readonly SearchIndexRecord[]> {
    return this.selectOfAccounts.all(JSON.stringify(accountIds)).map(recordOf);
  }

  async listIds(): Promise<readonly string[]> {
    return this.selectIds.all(0).map((row) => text(row, 'index_id'));
  }

  change({ indexId, change, audit }: Parameters<SearchIndexStore['change']>[0]): Promise<SearchIndexRecord | null> {
    const { accountId = null, name = null, tokenHashes } = change;
    return this.inTransaction(
      () => {
        if (accountId !== null) this.requireAccount(accountId);
        const [row] = this.update.all(accountId, name, tokenHashes?.readWrite ?? null, tokenHashes?.readOnly ?? null, indexId);
        return row ? recordOf(row) : null;
      },
      audit,
      (changed) => changed !== null,
    );
  }

  async hashDerivedTokens({ indexId, hashes }: Parameters<SearchIndexStore['hashDerivedTokens']>[0]): Promise<void> {
    await this.inTransaction(() => this.updateDerived.run(hashes.readWrite, hashes.readOnly, indexId));
  }

  markDeleted({ indexId, audit }: Parameters<SearchIndexStore['markDeleted']>[0]): Promise<boolean> {
    return this.inTransaction(
      () => this.updateDeleted.run(indexId).changes === 1,
      audit,
      (deleted) => deleted,
    );
  }

  async deleted(): Promise<readonly string[]> {
    return this.selectIds.all(1).map((row) => text(row, 'index_id'));
  }

  async forget({ indexId }: { readonly indexId: string }): Promise<void> {
    await this.inTransaction(() => this.delete.run(indexId));
  }
}
