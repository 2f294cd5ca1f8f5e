/** Accounts: few rows, rarely changed; each method is one durable transaction. */
import type { StatementSync } from 'node:sqlite';
import type { AccountStore, ApiKeyRecord, QueueInstance, TokenRecord, UserRecord } from '../../ports/store.js';
import { integer, integerOrNull, type Row, text, word } from './columns.js';
import { type Connection, transact } from './connection.js';

const instanceOf = (row: Row): QueueInstance => ({
  instanceId: text(row, 'instance_id'),
  region: text(row, 'region'),
  name: text(row, 'name'),
  createdAt: integer(row, 'created_at'),
  currentSigningKey: text(row, 'current_signing_key'),
  nextSigningKey: text(row, 'next_signing_key'),
});

const tokenOf = (row: Row): TokenRecord => ({
  tokenId: text(row, 'token_id'),
  instanceId: text(row, 'instance_id'),
  access: word(row, 'access', ['read-write', 'read-only']),
  createdAt: integer(row, 'created_at'),
  revokedAt: integerOrNull(row, 'revoked_at'),
});

const userOf = (row: Row): UserRecord => ({
  userId: text(row, 'user_id'),
  email: text(row, 'email'),
  createdAt: integer(row, 'created_at'),
});

export class SqliteAccounts implements AccountStore {
  private readonly connection: Connection;
  private readonly insertSecret: StatementSync;
  private readonly selectSecret: StatementSync;
  private readonly insertInstance: StatementSync;
  private readonly selectInstance: StatementSync;
  private readonly selectInstances: StatementSync;
  private readonly updateSigningKeys: StatementSync;
  private readonly insertToken: StatementSync;
  private readonly selectToken: StatementSync;
  private readonly selectTokens: StatementSync;
  private readonly updateRevoked: StatementSync;
  private readonly insertUser: StatementSync;
  private readonly insertApiKey: StatementSync;
  private readonly selectUsers: StatementSync;

  constructor(connection: Connection) {
    this.connection = connection;
    this.insertSecret = connection.prepare('INSERT INTO secret (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING');
    this.selectSecret = connection.prepare('SELECT value FROM secret WHERE name = ?');
    this.insertInstance = connection.prepare(
      `INSERT INTO queue_instance (instance_id, region, name, created_at, current_signing_key, next_signing_key)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.selectInstance = connection.prepare('SELECT * FROM queue_instance WHERE instance_id = ?');
    this.selectInstances = connection.prepare('SELECT * FROM queue_instance ORDER BY seq');
    this.updateSigningKeys = connection.prepare(
      'UPDATE queue_instance SET current_signing_key = ?, next_signing_key = ? WHERE instance_id = ?',
    );
    this.insertToken = connection.prepare(
      'INSERT INTO token (token_id, instance_id, access, created_at, revoked_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.selectToken = connection.prepare('SELECT * FROM token WHERE token_id = ?');
    this.selectTokens = connection.prepare('SELECT * FROM token WHERE instance_id = ? ORDER BY seq');
    this.updateRevoked = connection.prepare('UPDATE token SET revoked_at = coalesce(revoked_at, ?) WHERE token_id = ?');
    this.insertUser = connection.prepare('INSERT INTO account_user (user_id, email, created_at) VALUES (?, ?, ?)');
    this.insertApiKey = connection.prepare(
      'INSERT INTO api_key (api_key_id, user_id, name, key_hash, created_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.selectUsers = connection.prepare('SELECT * FROM account_user ORDER BY seq');
  }

  async secret({ name, value }: { readonly name: string; readonly value: string }): Promise<string> {
    this.insertSecret.run(name, value);
    await this.connection.durable();
    const row = this.selectSecret.get(name);
    return row ? text(row, 'value') : value;
  }

  async createInstance(instance: QueueInstance): Promise<void> {
    const { instanceId, region, name, createdAt, currentSigningKey, nextSigningKey } = instance;
    this.insertInstance.run(instanceId, region, name, createdAt, currentSigningKey, nextSigningKey);
    await this.connection.durable();
  }

  async findInstance({ instanceId }: { readonly instanceId: string }): Promise<QueueInstance | null> {
    const row = this.selectInstance.get(instanceId);
    return row ? instanceOf(row) : null;
  }

  async listInstances(): Promise<readonly QueueInstance[]> {
    return this.selectInstances.all().map(instanceOf);
  }

  async setSigningKeys(query: { readonly instanceId: string; readonly current: string; readonly next: string }): Promise<void> {
    const { changes } = this.updateSigningKeys.run(query.current, query.next, query.instanceId);
    if (changes !== 1) throw new Error(`there is no queue instance ${query.instanceId}`);
    await this.connection.durable();
  }

  async createToken(token: TokenRecord): Promise<void> {
    this.insertToken.run(token.tokenId, token.instanceId, token.access, token.createdAt, token.revokedAt);
    await this.connection.durable();
  }

  async findToken({ tokenId }: { readonly tokenId: string }): Promise<TokenRecord | null> {
    const row = this.selectToken.get(tokenId);
    return row ? tokenOf(row) : null;
  }

  async listTokens({ instanceId }: { readonly instanceId: string }): Promise<readonly TokenRecord[]> {
    return this.selectTokens.all(instanceId).map(tokenOf);
  }

  /** A token that is revoked already keeps its first time. */
  async revokeToken({ tokenId, at }: { readonly tokenId: string; readonly at: number }): Promise<void> {
    this.updateRevoked.run(at, tokenId);
    await this.connection.durable();
  }

  async createUser({ user, apiKey }: { readonly user: UserRecord; readonly apiKey: ApiKeyRecord }): Promise<void> {
    transact(this.connection, () => {
      this.insertUser.run(user.userId, user.email, user.createdAt);
      this.insertApiKey.run(apiKey.apiKeyId, apiKey.userId, apiKey.name, apiKey.keyHash, apiKey.createdAt);
    });
    await this.connection.durable();
  }

  async listUsers(): Promise<readonly UserRecord[]> {
    return this.selectUsers.all().map(userOf);
  }
}
