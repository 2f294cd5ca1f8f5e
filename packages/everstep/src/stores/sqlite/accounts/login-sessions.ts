/** Sessions of users, by the hash of the secret in their cookie. */
import type { StatementSync } from 'node:sqlite';
import { MAX_SESSIONS_PER_USER, type SessionRecord } from '../../../ports/stores/account-store.js';
import { integer, type Row, text } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

const sessionOf = (row: Row): SessionRecord => ({
  sessionHash: text(row, 'session_hash'),
  userId: text(row, 'user_id'),
  apiKeyId: text(row, 'api_key_id') || null,
  createdAt: integer(row, 'created_at'),
  expiresAt: integer(row, 'expires_at'),
});

/** What writes is called inside a transaction. */
export class LoginSessions {
  private readonly insert: StatementSync;
  private readonly insertWithoutKey: StatementSync;
  private readonly select: StatementSync;
  private readonly selectOfUser: StatementSync;
  private readonly update: StatementSync;
  private readonly deleteOne: StatementSync;
  private readonly deleteByKey: StatementSync;
  private readonly deleteByUser: StatementSync;
  private readonly deleteEnded: StatementSync;
  private readonly deleteBeyond: StatementSync;

  constructor(connection: Connection) {
    this.insert = connection.prepare(
      `INSERT INTO login_session (session_hash, user_id, api_key_id, created_at, expires_at)
       SELECT ?, k.user_id, k.api_key_id, ?, ? FROM api_key k JOIN account_user u ON u.user_id = k.user_id
       WHERE k.api_key_id = ? AND k.user_id = ? AND k.revoked_at IS NULL AND u.disabled_at IS NULL`,
    );
    this.insertWithoutKey = connection.prepare(
      `INSERT INTO login_session (session_hash, user_id, api_key_id, created_at, expires_at)
       SELECT ?, user_id, '', ?, ? FROM account_user WHERE user_id = ? AND disabled_at IS NULL`,
    );
    this.select = connection.prepare('SELECT * FROM login_session WHERE session_hash = ?');
    this.selectOfUser = connection.prepare(
      'SELECT * FROM login_session WHERE user_id = ? ORDER BY created_at DESC, session_hash',
    );
    this.update = connection.prepare('UPDATE login_session SET expires_at = ? WHERE session_hash = ?');
    this.deleteOne = connection.prepare('DELETE FROM login_session WHERE session_hash = ?');
    this.deleteByKey = connection.prepare('DELETE FROM login_session WHERE api_key_id = ?');
    this.deleteByUser = connection.prepare('DELETE FROM login_session WHERE user_id = ?');
    this.deleteEnded = connection.prepare('DELETE FROM login_session WHERE expires_at <= ?');
    this.deleteBeyond = connection.prepare(
      `DELETE FROM login_session WHERE session_hash IN (
         SELECT session_hash FROM login_session WHERE user_id = ? ORDER BY created_at DESC LIMIT -1 OFFSET ${MAX_SESSIONS_PER_USER})`,
    );
  }

  /** False when the user is disabled, or has no such key that is good. */
  create({ sessionHash, userId, apiKeyId, createdAt, expiresAt }: SessionRecord): boolean {
    this.deleteEnded.run(createdAt);
    const { changes } =
      apiKeyId === null
        ? this.insertWithoutKey.run(sessionHash, createdAt, expiresAt, userId)
        : this.insert.run(sessionHash, createdAt, expiresAt, apiKeyId, userId);
    const isCreated = changes === 1;
    if (isCreated) this.deleteBeyond.run(userId);
    return isCreated;
  }

  find(sessionHash: string): SessionRecord | null {
    const row = this.select.get(sessionHash);
    return row ? sessionOf(row) : null;
  }

  moveEnd(sessionHash: string, expiresAt: number): void {
    this.update.run(expiresAt, sessionHash);
  }

  delete(sessionHash: string): boolean {
    return this.deleteOne.run(sessionHash).changes === 1;
  }

  listOfUser(userId: string): readonly SessionRecord[] {
    return this.selectOfUser.all(userId).map(sessionOf);
  }

  /** Returns how many there were. */
  deleteOfUser(userId: string): number {
    return Number(this.deleteByUser.run(userId).changes);
  }

  deleteOfKey(apiKeyId: string): void {
    this.deleteByKey.run(apiKeyId);
  }
}
