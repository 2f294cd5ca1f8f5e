/** Identities of users, and links by which they get an API key again. What writes is called inside a transaction. */
import type { StatementSync } from 'node:sqlite';
import type { Identity } from '../../../ports/stores/accounts/sign-in.js';
import { text } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

export class SignInRecords {
  private readonly selectUser: StatementSync;
  private readonly insertIdentity: StatementSync;
  private readonly deleteIdentities: StatementSync;
  private readonly putLinkRow: StatementSync;
  private readonly selectLink: StatementSync;
  private readonly deleteLink: StatementSync;

  constructor(connection: Connection) {
    this.selectUser = connection.prepare('SELECT user_id FROM sso_identity WHERE issuer = ? AND subject = ?');
    this.insertIdentity = connection.prepare(
      `INSERT INTO sso_identity (issuer, subject, user_id, created_at)
       SELECT ?, ?, user_id, ? FROM account_user WHERE user_id = ? ON CONFLICT (issuer, subject) DO NOTHING`,
    );
    this.deleteIdentities = connection.prepare('DELETE FROM sso_identity WHERE user_id = ?');
    this.putLinkRow = connection.prepare(
      `INSERT INTO recovery_link (user_id, secret_hash, created_at, expires_at)
       SELECT user_id, ?, ?, ? FROM account_user WHERE user_id = ?
       ON CONFLICT (user_id) DO UPDATE SET secret_hash = excluded.secret_hash, created_at = excluded.created_at,
         expires_at = excluded.expires_at`,
    );
    this.selectLink = connection.prepare(
      `SELECT l.user_id FROM recovery_link l JOIN account_user u ON u.user_id = l.user_id
       WHERE l.secret_hash = ? AND l.expires_at > ? AND u.disabled_at IS NULL`,
    );
    this.deleteLink = connection.prepare('DELETE FROM recovery_link WHERE user_id = ?');
  }

  userOf({ issuer, subject }: Identity): string | null {
    const row = this.selectUser.get(issuer, subject);
    return row ? text(row, 'user_id') : null;
  }

  link({ issuer, subject }: Identity, userId: string, at: number): boolean {
    return this.insertIdentity.run(issuer, subject, at, userId).changes === 1;
  }

  putLink(userId: string, secretHash: string, createdAt: number, expiresAt: number): boolean {
    return this.putLinkRow.run(secretHash, createdAt, expiresAt, userId).changes === 1;
  }

  userOfLink(secretHash: string, at: number): string | null {
    const row = this.selectLink.get(secretHash, at);
    return row ? text(row, 'user_id') : null;
  }

  dropLink(userId: string): void {
    this.deleteLink.run(userId);
  }

  /** The user is deleted. */
  deleteOfUser(userId: string): void {
    this.deleteIdentities.run(userId);
    this.deleteLink.run(userId);
  }
}
