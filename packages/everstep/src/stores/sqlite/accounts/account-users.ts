/** Users and their API keys. E-mails are kept and compared in lower case. */
import type { StatementSync } from 'node:sqlite';
import type { ApiKeyRecord, UserRecord } from '../../../ports/stores/account-store.js';
import { integer, integerOrNull, type Row, text } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

const userOf = (row: Row): UserRecord => ({
  userId: text(row, 'user_id'),
  email: text(row, 'email'),
  createdAt: integer(row, 'created_at'),
  ...(row.disabled_at === null ? {} : { disabledAt: integer(row, 'disabled_at') }),
  ...(integer(row, 'is_operator') === 1 ? { isOperator: true } : {}),
});

function apiKeyOf(row: Row): ApiKeyRecord {
  const revokedAt = integerOrNull(row, 'revoked_at');
  return {
    apiKeyId: text(row, 'api_key_id'),
    userId: text(row, 'user_id'),
    name: text(row, 'name'),
    keyHash: text(row, 'key_hash'),
    createdAt: integer(row, 'created_at'),
    ...(revokedAt === null ? {} : { revokedAt }),
  };
}

export class AccountUsers {
  private readonly insertUser: StatementSync;
  private readonly selectUsers: StatementSync;
  private readonly selectUser: StatementSync;
  private readonly selectByEmail: StatementSync;
  private readonly selectPage: StatementSync;
  private readonly selectOtherOperator: StatementSync;
  private readonly updateDisabled: StatementSync;
  private readonly updateOperator: StatementSync;
  private readonly updateRevokedAll: StatementSync;
  private readonly deleteRows: readonly StatementSync[];
  private readonly insertApiKey: StatementSync;
  private readonly selectApiKeys: StatementSync;
  private readonly updateRevoked: StatementSync;

  constructor(connection: Connection) {
    this.insertUser = connection.prepare(
      'INSERT INTO account_user (user_id, email, created_at, disabled_at, is_operator) VALUES (?, ?, ?, ?, ?)',
    );
    this.selectPage = connection.prepare(
      `SELECT * FROM account_user WHERE seq > CASE WHEN ?1 IS NULL THEN 0
         ELSE coalesce((SELECT seq FROM account_user WHERE user_id = ?1), ${Number.MAX_SAFE_INTEGER}) END
       ORDER BY seq LIMIT ?2`,
    );
    this.selectOtherOperator = connection.prepare(
      'SELECT 1 FROM account_user WHERE is_operator = 1 AND disabled_at IS NULL AND user_id <> ? LIMIT 1',
    );
    this.updateDisabled = connection.prepare('UPDATE account_user SET disabled_at = ? WHERE user_id = ?');
    this.updateOperator = connection.prepare('UPDATE account_user SET is_operator = ? WHERE user_id = ?');
    this.updateRevokedAll = connection.prepare('UPDATE api_key SET revoked_at = ? WHERE user_id = ? AND revoked_at IS NULL');
    this.deleteRows = ['login_place', 'api_key', 'account_user'].map((table) =>
      connection.prepare(`DELETE FROM ${table} WHERE user_id = ?`),
    );
    this.selectUsers = connection.prepare('SELECT * FROM account_user ORDER BY seq');
    this.selectUser = connection.prepare('SELECT * FROM account_user WHERE user_id = ?');
    this.selectByEmail = connection.prepare('SELECT * FROM account_user WHERE email = ?');
    this.insertApiKey = connection.prepare(
      'INSERT INTO api_key (api_key_id, user_id, name, key_hash, created_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.selectApiKeys = connection.prepare('SELECT * FROM api_key WHERE user_id = ? ORDER BY seq');
    this.updateRevoked = connection.prepare(
      'UPDATE api_key SET revoked_at = ? WHERE api_key_id = ? AND user_id = ? AND revoked_at IS NULL',
    );
  }

  /** Throws when the id or the e-mail is taken. */
  create({ userId, email, createdAt, disabledAt, isOperator }: UserRecord): void {
    this.insertUser.run(userId, email.toLowerCase(), createdAt, disabledAt ?? null, isOperator ? 1 : 0);
  }

  list(): readonly UserRecord[] {
    return this.selectUsers.all().map(userOf);
  }

  page(after: string | null, limit: number): readonly UserRecord[] {
    return this.selectPage.all(after, limit).map(userOf);
  }

  /** Enabled operators that stay without this user: none means that it is the last one. */
  isLastOperator({ userId, isOperator, disabledAt }: UserRecord): boolean {
    return isOperator === true && disabledAt === undefined && this.selectOtherOperator.get(userId) === undefined;
  }

  setDisabled(userId: string, at: number | null): void {
    this.updateDisabled.run(at, userId);
  }

  setOperator(userId: string, isOperator: boolean): void {
    this.updateOperator.run(isOperator ? 1 : 0, userId);
  }

  /** With its keys and login places. */
  delete(userId: string): void {
    for (const statement of this.deleteRows) statement.run(userId);
  }

  revokeApiKeys(userId: string, at: number): number {
    return Number(this.updateRevokedAll.run(at, userId).changes);
  }

  find(userId: string): UserRecord | null {
    const row = this.selectUser.get(userId);
    return row ? userOf(row) : null;
  }

  findByEmail(email: string): UserRecord | null {
    const row = this.selectByEmail.get(email.toLowerCase());
    return row ? userOf(row) : null;
  }

  /** Throws when the id or the hash is taken, or when there is no such user. */
  createApiKey({ apiKeyId, userId, name, keyHash, createdAt, revokedAt }: ApiKeyRecord): void {
    if (!this.find(userId)) throw new Error(`there is no user ${userId}`);
    this.insertApiKey.run(apiKeyId, userId, name, keyHash, createdAt, revokedAt ?? null);
  }

  listApiKeys(userId: string): readonly ApiKeyRecord[] {
    return this.selectApiKeys.all(userId).map(apiKeyOf);
  }

  /** False when the user has no such key that is good. */
  revokeApiKey(apiKeyId: string, userId: string, at: number): boolean {
    return this.updateRevoked.run(at, apiKeyId, userId).changes === 1;
  }
}
