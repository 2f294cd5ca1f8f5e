/** Users and their API keys. Email addresses are stored and compared in lowercase. */
import type { ApiKeyRecord, UserRecord } from '../../../ports/stores/account-store.js';
import type { Listing, Position } from '../../../ports/stores/page.js';
import { integer } from '../../records/columns.js';
import { FOR_UPDATE, isTrue } from '../sql/dialect.js';
import { count, type Procedure, row, rows, send } from '../sql/procedure.js';
import { raw, sql } from '../sql/sql.js';
import { NUMBER, optional, TEXT, TRUE_OR_ABSENT, table } from '../sql/table.js';

export const USER = table<UserRecord>('account_user', {
  userId: TEXT,
  email: TEXT,
  createdAt: NUMBER,
  disabledAt: optional(NUMBER),
  isOperator: TRUE_OR_ABSENT,
});

const API_KEY = table<ApiKeyRecord>('api_key', {
  apiKeyId: TEXT,
  userId: TEXT,
  name: TEXT,
  keyHash: TEXT,
  createdAt: NUMBER,
  revokedAt: optional(NUMBER),
});

const IS_OPERATOR = isTrue('is_operator');

/** Creates the user. Fails if the id or the email address is taken. */
export const createUser = (user: UserRecord): Procedure<void> => send(USER.insert({ ...user, email: user.email.toLowerCase() }));

export function* listUsers(): Procedure<readonly UserRecord[]> {
  return (yield* rows(sql`SELECT * FROM account_user ORDER BY seq`)).map(USER.read);
}

/** Returns a page of users in the order of creation. A position stays valid if its user is deleted. */
export function* listUsersPage(after: Position | null, limit: number): Procedure<Listing<UserRecord>> {
  const foundRows = yield* rows(sql`
    SELECT * FROM account_user WHERE seq > ${Number(after ?? 0)} ORDER BY seq LIMIT ${limit + 1}`);
  const page = foundRows.slice(0, limit);
  const lastRow = page.at(-1);
  const next = lastRow && foundRows.length > limit ? String(integer(lastRow, 'seq')) : null;
  return { items: page.map(USER.read), next };
}

export function* findUser(userId: string): Procedure<UserRecord | null> {
  const foundRow = yield* row(sql`SELECT * FROM account_user WHERE user_id = ${userId}`);
  return foundRow && USER.read(foundRow);
}

export function* findUserByEmail(email: string): Procedure<UserRecord | null> {
  const foundRow = yield* row(sql`SELECT * FROM account_user WHERE email = ${email.toLowerCase()}`);
  return foundRow && USER.read(foundRow);
}

/**
 * Locks the user and all operators, so that concurrent removals of two operators run one after the other. Returns null if there
 * is no such user.
 */
export function* lockUser(userId: string): Procedure<{ readonly isLastOperator: boolean } | null> {
  yield* rows(sql`SELECT user_id FROM account_user WHERE ${IS_OPERATOR} ORDER BY user_id ${FOR_UPDATE}`);
  const foundRow = yield* row(sql`SELECT * FROM account_user WHERE user_id = ${userId} ${FOR_UPDATE}`);
  if (!foundRow) return null;
  const user = USER.read(foundRow);
  if (user.isOperator !== true || user.disabledAt !== undefined) return { isLastOperator: false };
  const otherOperator = yield* row(sql`
    SELECT user_id FROM account_user WHERE ${IS_OPERATOR} AND disabled_at IS NULL AND user_id <> ${userId} LIMIT 1`);
  return { isLastOperator: otherOperator === null };
}

export const setUserDisabled = (userId: string, at: number | null): Procedure<void> =>
  send(sql`UPDATE account_user SET disabled_at = ${at} WHERE user_id = ${userId}`);

export const setOperator = (userId: string, isOperator: boolean): Procedure<void> =>
  send(sql`UPDATE account_user SET is_operator = ${isOperator} WHERE user_id = ${userId}`);

/** Deletes the user with all API keys and login locations. */
export function* deleteUser(userId: string): Procedure<void> {
  for (const table of ['login_place', 'api_key', 'account_user'])
    yield* send(sql`DELETE FROM ${raw(table)} WHERE user_id = ${userId}`);
}

/** Creates the API key. Fails if the id or the hash is taken, or if there is no such user. */
export function* createApiKey(apiKey: ApiKeyRecord): Procedure<void> {
  if (!(yield* findUser(apiKey.userId))) throw new Error(`there is no user ${apiKey.userId}`);
  yield* send(API_KEY.insert(apiKey));
}

export function* listApiKeys(userId: string): Procedure<readonly ApiKeyRecord[]> {
  return (yield* rows(sql`SELECT * FROM api_key WHERE user_id = ${userId} ORDER BY seq`)).map(API_KEY.read);
}

/** Revokes the API key. Returns false if the user has no such valid key. */
export function* revokeApiKey(apiKeyId: string, userId: string, at: number): Procedure<boolean> {
  const revokedCount = yield* count(sql`
    UPDATE api_key SET revoked_at = ${at} WHERE api_key_id = ${apiKeyId} AND user_id = ${userId} AND revoked_at IS NULL`);
  return revokedCount === 1;
}

/** Revokes all API keys of the user. Returns the number of keys that were valid. */
export const revokeApiKeys = (userId: string, at: number): Procedure<number> =>
  count(sql`UPDATE api_key SET revoked_at = ${at} WHERE user_id = ${userId} AND revoked_at IS NULL`);
