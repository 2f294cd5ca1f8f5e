/** Pending invitations to teams. */
import type { StatementSync } from 'node:sqlite';
import { type InvitationRecord, ROLES } from '../../../ports/stores/account-store.js';
import { integer, type Row, text, word } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

const invitationOf = (row: Row): InvitationRecord => ({
  invitationId: text(row, 'invitation_id'),
  teamId: text(row, 'team_id'),
  email: text(row, 'email'),
  role: word(row, 'role', ROLES),
  secretHash: text(row, 'secret_hash'),
  invitedBy: text(row, 'invited_by'),
  createdAt: integer(row, 'created_at'),
  expiresAt: integer(row, 'expires_at'),
});

/** What writes is called inside a transaction. */
export class AccountInvitations {
  private readonly insert: StatementSync;
  private readonly selectById: StatementSync;
  private readonly selectBySecret: StatementSync;
  private readonly selectOfTeam: StatementSync;
  private readonly selectOfInviter: StatementSync;
  private readonly deleteOne: StatementSync;
  private readonly deleteEarlier: StatementSync;
  private readonly deleteByTeam: StatementSync;
  private readonly deleteByInviter: StatementSync;

  constructor(connection: Connection) {
    this.insert = connection.prepare(
      `INSERT INTO invitation (invitation_id, team_id, email, role, secret_hash, invited_by, created_at, expires_at)
       SELECT ?, team_id, ?, ?, ?, ?, ?, ? FROM team WHERE team_id = ?`,
    );
    this.selectById = connection.prepare('SELECT * FROM invitation WHERE invitation_id = ?');
    this.selectBySecret = connection.prepare('SELECT * FROM invitation WHERE secret_hash = ?');
    this.selectOfTeam = connection.prepare('SELECT * FROM invitation WHERE team_id = ? ORDER BY seq');
    this.selectOfInviter = connection.prepare('SELECT * FROM invitation WHERE invited_by = ? ORDER BY seq');
    this.deleteOne = connection.prepare('DELETE FROM invitation WHERE invitation_id = ?');
    this.deleteEarlier = connection.prepare('DELETE FROM invitation WHERE (team_id = ? AND email = ?) OR expires_at <= ?');
    this.deleteByTeam = connection.prepare('DELETE FROM invitation WHERE team_id = ?');
    this.deleteByInviter = connection.prepare('DELETE FROM invitation WHERE invited_by = ? AND team_id = coalesce(?, team_id)');
  }

  /** Throws when there is no such team, or when the id or the hash is taken. */
  put({ invitationId, teamId, email, role, secretHash, invitedBy, createdAt, expiresAt }: InvitationRecord): void {
    this.deleteEarlier.run(teamId, email, createdAt);
    const values = [invitationId, email, role, secretHash, invitedBy, createdAt, expiresAt, teamId];
    if (this.insert.run(...values).changes !== 1) throw new Error(`there is no team ${teamId}`);
  }

  find(query: { readonly invitationId: string } | { readonly secretHash: string }): InvitationRecord | null {
    const row = 'invitationId' in query ? this.selectById.get(query.invitationId) : this.selectBySecret.get(query.secretHash);
    return row ? invitationOf(row) : null;
  }

  list(query: { readonly teamId: string } | { readonly invitedBy: string }): readonly InvitationRecord[] {
    const rows = 'teamId' in query ? this.selectOfTeam.all(query.teamId) : this.selectOfInviter.all(query.invitedBy);
    return rows.map(invitationOf);
  }

  delete(invitationId: string): boolean {
    return this.deleteOne.run(invitationId).changes === 1;
  }

  deleteOfTeam(teamId: string): void {
    this.deleteByTeam.run(teamId);
  }

  /** Null: to all teams. */
  deleteOfInviter(userId: string, teamId: string | null): void {
    this.deleteByInviter.run(userId, teamId);
  }
}
