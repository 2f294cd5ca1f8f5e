/** Users and their API keys. E-mails are kept and compared in lower case. */
import type { ApiKeyRecord, UserRecord } from '../../ports/account-store.js';
import { integer, integerOrNull, type Row, text } from './columns.js';
import { type Session, statement, type TransactionSession } from './connection.js';

const INSERT_USER = statement('INSERT INTO account_user (user_id, email, created_at) VALUES ($1, $2, $3)');
const SELECT_USERS = statement('SELECT * FROM account_user ORDER BY seq');
const SELECT_FIRST = statement('SELECT * FROM account_user ORDER BY seq LIMIT 1');
const SELECT_USER = statement('SELECT * FROM account_user WHERE user_id = $1');
const SELECT_BY_EMAIL = statement('SELECT * FROM account_user WHERE email = $1');
const INSERT_API_KEY = statement(`
  INSERT INTO api_key (api_key_id, user_id, name, key_hash, created_at, revoked_at)
  SELECT $1, user_id, $3, $4, $5, $6 FROM account_user WHERE user_id = $2`);
const SELECT_API_KEYS = statement('SELECT * FROM api_key WHERE user_id = $1 ORDER BY seq');
const REVOKE = statement('UPDATE api_key SET revoked_at = $1 WHERE api_key_id = $2 AND user_id = $3 AND revoked_at IS NULL');

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

/** Rejects when the id or the e-mail is taken. */
export async function createUser(session: TransactionSession, { userId, email, createdAt }: UserRecord): Promise<void> {
  await session.execute(INSERT_USER, [userId, email.toLowerCase(), createdAt]);
}

export async function listUsers(session: Session): Promise<readonly UserRecord[]> {
  return (await session.query(SELECT_USERS)).map(userOf);
}

export async function firstUser(session: Session): Promise<UserRecord | null> {
  const [row] = await session.query(SELECT_FIRST);
  return row ? userOf(row) : null;
}

export async function findUser(session: Session, userId: string): Promise<UserRecord | null> {
  const [row] = await session.query(SELECT_USER, [userId]);
  return row ? userOf(row) : null;
}

export async function findUserByEmail(session: Session, email: string): Promise<UserRecord | null> {
  const [row] = await session.query(SELECT_BY_EMAIL, [email.toLowerCase()]);
  return row ? userOf(row) : null;
}

/** Rejects when the id or the hash is taken, or when there is no such user. */
export async function createApiKey(session: TransactionSession, apiKey: ApiKeyRecord): Promise<void> {
  const { apiKeyId, userId, name, keyHash, createdAt, revokedAt = null } = apiKey;
  const made = await session.execute(INSERT_API_KEY, [apiKeyId, userId, name, keyHash, createdAt, revokedAt]);
  if (made !== 1) throw new Error(`there is no user ${userId}`);
}

export async function listApiKeys(session: Session, userId: string): Promise<readonly ApiKeyRecord[]> {
  return (await session.query(SELECT_API_KEYS, [userId])).map(apiKeyOf);
}

/** False when the user has no such key that is good. */
export async function revokeApiKey(session: TransactionSession, apiKeyId: string, userId: string, at: number): Promise<boolean> {
  return (await session.execute(REVOKE, [at, apiKeyId, userId])) === 1;
}
