/** Users and their API keys. E-mails are kept and compared in lower case. */
import type { StatementSync } from 'node:sqlite';
import type { ApiKeyRecord, UserRecord } from '../../ports/account-store.js';
import { integer, integerOrNull, type Row, text } from './columns.js';
import type { Connection } from './connection.js';

const userOf = (row: Row): UserRecord => ({
  userId: text(row, 'user_id'),
  email: text(row, 'email'),
  createdAt: integer(row, 'created_at'),
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
  private readonly selectFirst: StatementSync;
  private readonly selectUser: StatementSync;
  private readonly selectByEmail: StatementSync;
  private readonly insertApiKey: StatementSync;
  private readonly selectApiKeys: StatementSync;
  private readonly updateRevoked: StatementSync;

  constructor(connection: Connection) {
    this.insertUser = connection.prepare('INSERT INTO account_user (user_id, email, created_at) VALUES (?, ?, ?)');
    this.selectUsers = connection.prepare('SELECT * FROM account_user ORDER BY seq');
    this.selectFirst = connection.prepare('SELECT * FROM account_user ORDER BY seq LIMIT 1');
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
  create({ userId, email, createdAt }: UserRecord): void {
    this.insertUser.run(userId, email.toLowerCase(), createdAt);
  }

  list(): readonly UserRecord[] {
    return this.selectUsers.all().map(userOf);
  }

  /** Null when there is none. */
  first(): UserRecord | null {
    const row = this.selectFirst.get();
    return row ? userOf(row) : null;
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
