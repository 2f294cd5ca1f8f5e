/** Pending invitations to teams. */
import { type InvitationRecord, ROLES } from '../../../ports/stores/account-store.js';
import { integer, type Row, text, word } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

/** The row of the team is locked, so that a deletion of the team at the same moment leaves no invitation behind. */
const INSERT = statement(`
  INSERT INTO invitation (invitation_id, team_id, email, role, secret_hash, invited_by, created_at, expires_at)
  SELECT $1, team_id, $3, $4, $5, $6, $7, $8 FROM team WHERE team_id = $2 FOR KEY SHARE`);
const SELECT_BY_ID = statement('SELECT * FROM invitation WHERE invitation_id = $1');
const SELECT_BY_SECRET = statement('SELECT * FROM invitation WHERE secret_hash = $1');
const SELECT_OF_TEAM = statement('SELECT * FROM invitation WHERE team_id = $1 ORDER BY seq');
const SELECT_OF_INVITER = statement('SELECT * FROM invitation WHERE invited_by = $1 ORDER BY seq');
const DELETE = statement('DELETE FROM invitation WHERE invitation_id = $1');
const DELETE_EARLIER = statement('DELETE FROM invitation WHERE (team_id = $1 AND email = $2) OR expires_at <= $3');
const DELETE_OF_TEAM = statement('DELETE FROM invitation WHERE team_id = $1');
const DELETE_OF_INVITER = statement('DELETE FROM invitation WHERE invited_by = $1 AND ($2::text IS NULL OR team_id = $2)');

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

/** Rejects when there is no such team, or when the id or the hash is taken. */
export async function putInvitation(session: TransactionSession, invitation: InvitationRecord): Promise<void> {
  const { invitationId, teamId, email, role, secretHash, invitedBy, createdAt, expiresAt } = invitation;
  session.send(DELETE_EARLIER, [teamId, email, createdAt]);
  const values = [invitationId, teamId, email, role, secretHash, invitedBy, createdAt, expiresAt];
  if ((await session.execute(INSERT, values)) !== 1) throw new Error(`there is no team ${teamId}`);
}

export async function findInvitation(
  session: Session,
  query: { readonly invitationId: string } | { readonly secretHash: string },
): Promise<InvitationRecord | null> {
  const [row] =
    'invitationId' in query
      ? await session.query(SELECT_BY_ID, [query.invitationId])
      : await session.query(SELECT_BY_SECRET, [query.secretHash]);
  return row ? invitationOf(row) : null;
}

export async function listInvitations(
  session: Session,
  query: { readonly teamId: string } | { readonly invitedBy: string },
): Promise<readonly InvitationRecord[]> {
  const rows =
    'teamId' in query
      ? await session.query(SELECT_OF_TEAM, [query.teamId])
      : await session.query(SELECT_OF_INVITER, [query.invitedBy]);
  return rows.map(invitationOf);
}

export async function deleteInvitation(session: TransactionSession, invitationId: string): Promise<boolean> {
  return (await session.execute(DELETE, [invitationId])) === 1;
}

export const deleteInvitationsOfTeam = (session: TransactionSession, teamId: string): void =>
  session.send(DELETE_OF_TEAM, [teamId]);

/** `teamId` null: to all teams. */
export const deleteInvitationsOfInviter = (session: TransactionSession, userId: string, teamId: string | null): void =>
  session.send(DELETE_OF_INVITER, [userId, teamId]);
