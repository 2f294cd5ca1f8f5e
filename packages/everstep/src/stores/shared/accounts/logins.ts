/** Sessions of users, by the hash of the secret in their cookie, and the most recent locations of their logins. */
import {
  MAX_LOGIN_LOCATIONS,
  MAX_SESSIONS_PER_USER,
  type SessionRecord,
  type UserRecord,
} from '../../../ports/stores/account-store.js';
import { integer } from '../../records/columns.js';
import { FOR_SHARE, greatest, skipRows } from '../sql/dialect.js';
import { count, type Procedure, row, rows, send } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { EMPTY_IF_NULL, NUMBER, TEXT, table } from '../sql/table.js';
import { USER } from './users.js';

const SESSION = table<SessionRecord>('login_session', {
  sessionHash: TEXT,
  userId: TEXT,
  apiKeyId: EMPTY_IF_NULL,
  createdAt: NUMBER,
  expiresAt: NUMBER,
});

/**
 * Starts a session. Returns false if the user is disabled, or has no such valid key. Locks both, so that a concurrent
 * revocation ends the session.
 */
export function* createSession({ sessionHash, userId, apiKeyId, createdAt, expiresAt }: SessionRecord): Procedure<boolean> {
  yield* send(sql`DELETE FROM login_session WHERE expires_at <= ${createdAt}`);
  const newSession =
    apiKeyId === null
      ? sql`SELECT ${sessionHash}, user_id, '', ${createdAt}, ${expiresAt} FROM account_user
          WHERE user_id = ${userId} AND disabled_at IS NULL ${FOR_SHARE}`
      : sql`SELECT ${sessionHash}, k.user_id, k.api_key_id, ${createdAt}, ${expiresAt}
          FROM api_key k JOIN account_user u ON u.user_id = k.user_id
          WHERE k.api_key_id = ${apiKeyId} AND k.user_id = ${userId} AND k.revoked_at IS NULL AND u.disabled_at IS NULL ${FOR_SHARE}`;
  const createdCount = yield* count(
    sql`INSERT INTO login_session (session_hash, user_id, api_key_id, created_at, expires_at) ${newSession}`,
  );
  if (createdCount !== 1) return false;
  yield* send(sql`
    DELETE FROM login_session WHERE session_hash IN (
      SELECT session_hash FROM login_session WHERE user_id = ${userId} ORDER BY created_at DESC ${skipRows(MAX_SESSIONS_PER_USER)})`);
  return true;
}

export function* findSession(
  sessionHash: string,
): Procedure<{ readonly session: SessionRecord; readonly user: UserRecord } | null> {
  const foundRow = yield* row(sql`
    SELECT u.*, s.session_hash, s.api_key_id, s.expires_at, s.created_at AS session_created_at
    FROM login_session s JOIN account_user u ON u.user_id = s.user_id WHERE s.session_hash = ${sessionHash}`);
  return (
    foundRow && { session: SESSION.read({ ...foundRow, created_at: foundRow.session_created_at }), user: USER.read(foundRow) }
  );
}

export const extendSession = (sessionHash: string, expiresAt: number): Procedure<void> =>
  send(sql`UPDATE login_session SET expires_at = ${expiresAt} WHERE session_hash = ${sessionHash}`);

/** Returns the sessions of the user, newest first. */
export function* listSessions(userId: string): Procedure<readonly SessionRecord[]> {
  const foundRows = yield* rows(sql`
    SELECT * FROM login_session WHERE user_id = ${userId} ORDER BY created_at DESC, session_hash`);
  return foundRows.map(SESSION.read);
}

export function* deleteSession(sessionHash: string): Procedure<boolean> {
  return (yield* count(sql`DELETE FROM login_session WHERE session_hash = ${sessionHash}`)) === 1;
}

/** Deletes all sessions of the user and returns their number. */
export const deleteSessionsOfUser = (userId: string): Procedure<number> =>
  count(sql`DELETE FROM login_session WHERE user_id = ${userId}`);

export const deleteSessionsOfKey = (apiKeyId: string): Procedure<void> =>
  send(sql`DELETE FROM login_session WHERE api_key_id = ${apiKeyId}`);

/** Deletes the sessions of the user that were started with an identity provider. */
export const deleteSessionsWithoutKey = (userId: string): Procedure<void> =>
  send(sql`DELETE FROM login_session WHERE user_id = ${userId} AND api_key_id = ''`);

/** Returns the time of the last login from this location; null if it is not among the most recent locations of the user. */
export function* lastLoginAt(userId: string, location: string): Procedure<number | null> {
  const foundRow = yield* row(sql`SELECT at FROM login_place WHERE user_id = ${userId} AND place = ${location}`);
  return foundRow && integer(foundRow, 'at');
}

export function* recordLogin(userId: string, location: string, at: number): Procedure<void> {
  yield* send(sql`
    INSERT INTO login_place (user_id, place, at) VALUES (${userId}, ${location}, ${at})
    ON CONFLICT (user_id, place) DO UPDATE SET at = ${greatest(sql`login_place.at`, sql`excluded.at`)}`);
  yield* send(sql`
    DELETE FROM login_place WHERE user_id = ${userId} AND place IN (
      SELECT place FROM login_place WHERE user_id = ${userId} ORDER BY at DESC, place ${skipRows(MAX_LOGIN_LOCATIONS)})`);
}
