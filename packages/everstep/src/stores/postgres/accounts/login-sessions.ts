/** Sessions of users, by the hash of the secret in their cookie. */
import { MAX_SESSIONS_PER_USER, type SessionRecord, type UserRecord } from '../../../ports/stores/account-store.js';
import { integer, type Row, text } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';
import { userOf } from './account-users.js';

/** The rows of the key and the user are locked: revoking or disabling them at the same moment leaves no session behind. */
const INSERT = statement(`
  INSERT INTO login_session (session_hash, user_id, api_key_id, created_at, expires_at)
  SELECT $1, k.user_id, k.api_key_id, $2, $3 FROM api_key k JOIN account_user u ON u.user_id = k.user_id
  WHERE k.api_key_id = $4 AND k.user_id = $5 AND k.revoked_at IS NULL AND u.disabled_at IS NULL FOR SHARE`);
const INSERT_WITHOUT_KEY = statement(`
  INSERT INTO login_session (session_hash, user_id, api_key_id, created_at, expires_at)
  SELECT $1, user_id, '', $2, $3 FROM account_user WHERE user_id = $4 AND disabled_at IS NULL FOR SHARE`);
const DELETE_ENDED = statement('DELETE FROM login_session WHERE expires_at <= $1');
const DELETE_BEYOND = statement(`
  DELETE FROM login_session WHERE session_hash IN (
    SELECT session_hash FROM login_session WHERE user_id = $1 ORDER BY created_at DESC OFFSET ${MAX_SESSIONS_PER_USER})`);
const SELECT = statement(`
  SELECT s.session_hash, s.api_key_id, s.created_at AS begun_at, s.expires_at, u.*
  FROM login_session s JOIN account_user u ON u.user_id = s.user_id WHERE s.session_hash = $1`);
/** What a crash of the server takes back is written again by the next request of the session. */
const WITHOUT_WAITING = statement(`SELECT set_config('synchronous_commit', 'off', true)`);
const UPDATE = statement('UPDATE login_session SET expires_at = $2 WHERE session_hash = $1');
const DELETE = statement('DELETE FROM login_session WHERE session_hash = $1');
const SELECT_OF_USER = statement('SELECT * FROM login_session WHERE user_id = $1 ORDER BY created_at DESC, session_hash');
const DELETE_OF_USER = statement('DELETE FROM login_session WHERE user_id = $1');
const DELETE_OF_KEY = statement('DELETE FROM login_session WHERE api_key_id = $1');

const sessionOf = (row: Row): SessionRecord => ({
  sessionHash: text(row, 'session_hash'),
  userId: text(row, 'user_id'),
  apiKeyId: text(row, 'api_key_id') || null,
  createdAt: integer(row, 'created_at'),
  expiresAt: integer(row, 'expires_at'),
});

/** False when the user is disabled, or has no such key that is good. */
export async function createSession(session: TransactionSession, record: SessionRecord): Promise<boolean> {
  const { sessionHash, userId, apiKeyId, createdAt, expiresAt } = record;
  session.send(DELETE_ENDED, [createdAt]);
  const created =
    apiKeyId === null
      ? await session.execute(INSERT_WITHOUT_KEY, [sessionHash, createdAt, expiresAt, userId])
      : await session.execute(INSERT, [sessionHash, createdAt, expiresAt, apiKeyId, userId]);
  if (created !== 1) return false;
  await session.execute(DELETE_BEYOND, [userId]);
  return true;
}

export async function listSessions(session: Session, userId: string): Promise<readonly SessionRecord[]> {
  return (await session.query(SELECT_OF_USER, [userId])).map(sessionOf);
}

export async function findSession(
  database: Session,
  sessionHash: string,
): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | null> {
  const [row] = await database.query(SELECT, [sessionHash]);
  if (!row) return null;
  const session = sessionOf(row);
  return {
    session: { ...session, createdAt: integer(row, 'begun_at') },
    user: userOf(row),
  };
}

export async function extendSession(session: TransactionSession, sessionHash: string, expiresAt: number): Promise<void> {
  session.send(WITHOUT_WAITING);
  await session.execute(UPDATE, [sessionHash, expiresAt]);
}

export async function deleteSession(session: TransactionSession, sessionHash: string): Promise<boolean> {
  return (await session.execute(DELETE, [sessionHash])) === 1;
}

export const deleteSessionsOfUser = (session: TransactionSession, userId: string): Promise<number> =>
  session.execute(DELETE_OF_USER, [userId]);

export async function deleteSessionsOfKey(session: TransactionSession, apiKeyId: string): Promise<void> {
  await session.execute(DELETE_OF_KEY, [apiKeyId]);
}
