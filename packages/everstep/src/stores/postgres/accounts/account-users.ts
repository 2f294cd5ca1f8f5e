/** Users and their API keys. E-mails are kept and compared in lower case. */
import type { ApiKeyRecord, UserRecord } from '../../../ports/stores/account-store.js';
import { flag, integer, integerOrNull, type Row, text } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

const INSERT_USER = statement(
  'INSERT INTO account_user (user_id, email, created_at, disabled_at, is_operator) VALUES ($1, $2, $3, $4, $5)',
);
const SELECT_PAGE = statement(`
  SELECT * FROM account_user
  WHERE $1::text IS NULL OR seq > (SELECT seq FROM account_user WHERE user_id = $1)
  ORDER BY seq LIMIT $2`);
/** Of several operators that go at once, each waits for the other. */
const LOCK_OPERATORS = statement('SELECT user_id FROM account_user WHERE is_operator ORDER BY user_id FOR UPDATE');
const LOCK_USER = statement('SELECT * FROM account_user WHERE user_id = $1 FOR UPDATE');
const OTHER_OPERATOR = statement(
  'SELECT 1 FROM account_user WHERE is_operator AND disabled_at IS NULL AND user_id <> $1 LIMIT 1',
);
const SET_DISABLED = statement('UPDATE account_user SET disabled_at = $2 WHERE user_id = $1');
const SET_OPERATOR = statement('UPDATE account_user SET is_operator = $2 WHERE user_id = $1');
const REVOKE_ALL = statement('UPDATE api_key SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL');
const DELETE_PLACES = statement('DELETE FROM login_place WHERE user_id = $1');
const DELETE_KEYS = statement('DELETE FROM api_key WHERE user_id = $1');
const DELETE_USER = statement('DELETE FROM account_user WHERE user_id = $1');
const SELECT_USERS = statement('SELECT * FROM account_user ORDER BY seq');
const SELECT_USER = statement('SELECT * FROM account_user WHERE user_id = $1');
const SELECT_BY_EMAIL = statement('SELECT * FROM account_user WHERE email = $1');
const INSERT_API_KEY = statement(`
  INSERT INTO api_key (api_key_id, user_id, name, key_hash, created_at, revoked_at)
  SELECT $1, user_id, $3, $4, $5, $6 FROM account_user WHERE user_id = $2`);
const SELECT_API_KEYS = statement('SELECT * FROM api_key WHERE user_id = $1 ORDER BY seq');
const REVOKE = statement('UPDATE api_key SET revoked_at = $1 WHERE api_key_id = $2 AND user_id = $3 AND revoked_at IS NULL');

export const userOf = (row: Row): UserRecord => ({
  userId: text(row, 'user_id'),
  email: text(row, 'email'),
  createdAt: integer(row, 'created_at'),
  ...(row.disabled_at === null ? {} : { disabledAt: integer(row, 'disabled_at') }),
  ...(flag(row, 'is_operator') ? { isOperator: true } : {}),
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
export async function createUser(session: TransactionSession, user: UserRecord): Promise<void> {
  const { userId, email, createdAt, disabledAt = null, isOperator = false } = user;
  await session.execute(INSERT_USER, [userId, email.toLowerCase(), createdAt, disabledAt, isOperator]);
}

export async function listUsers(session: Session): Promise<readonly UserRecord[]> {
  return (await session.query(SELECT_USERS)).map(userOf);
}

export async function pageOfUsers(session: Session, after: string | null, limit: number): Promise<readonly UserRecord[]> {
  return (await session.query(SELECT_PAGE, [after, limit])).map(userOf);
}

/** Locks the user, and the operators when it is one. */
export async function lockUser(
  session: TransactionSession,
  userId: string,
): Promise<{ readonly user: UserRecord; readonly isLastOperator: boolean } | null> {
  await session.query(LOCK_OPERATORS);
  const [row] = await session.query(LOCK_USER, [userId]);
  if (!row) return null;
  const user = userOf(row);
  if (user.isOperator !== true || user.disabledAt !== undefined) return { user, isLastOperator: false };
  return { user, isLastOperator: (await session.query(OTHER_OPERATOR, [userId])).length === 0 };
}

export const setUserDisabled = (session: TransactionSession, userId: string, at: number | null): void =>
  session.send(SET_DISABLED, [userId, at]);

export const setOperator = (session: TransactionSession, userId: string, isOperator: boolean): void =>
  session.send(SET_OPERATOR, [userId, isOperator]);

/** With its keys and login places. */
export async function deleteUser(session: TransactionSession, userId: string): Promise<void> {
  session.send(DELETE_PLACES, [userId]);
  session.send(DELETE_KEYS, [userId]);
  await session.execute(DELETE_USER, [userId]);
}

export const revokeApiKeys = (session: TransactionSession, userId: string, at: number): Promise<number> =>
  session.execute(REVOKE_ALL, [userId, at]);

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
