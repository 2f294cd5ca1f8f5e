/** Teams, their members and pending invitations. A change first locks the row of the team, so concurrent changes run in turn. */
import {
  type InvitationRecord,
  type MemberRecord,
  ROLES,
  type Role,
  type TeamRecord,
} from '../../../ports/stores/account-store.js';
import { flag, integer, text, word } from '../../records/columns.js';
import { FOR_KEY_SHARE, FOR_UPDATE, isFalse } from '../sql/dialect.js';
import { count, type Procedure, row, rows, send } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { NUMBER, oneOf, TEXT, table } from '../sql/table.js';

const TEAM = table<TeamRecord>('team', { teamId: TEXT, name: TEXT, createdAt: NUMBER });

const MEMBER = table<Omit<MemberRecord, 'email'>>('team_member', {
  teamId: TEXT,
  userId: TEXT,
  role: oneOf(ROLES),
  addedAt: NUMBER,
});

const INVITATION = table<InvitationRecord>('invitation', {
  invitationId: TEXT,
  teamId: TEXT,
  email: TEXT,
  role: oneOf(ROLES),
  secretHash: TEXT,
  invitedBy: TEXT,
  createdAt: NUMBER,
  expiresAt: NUMBER,
});

const lockTeam = function* (teamId: string): Procedure<boolean> {
  return (yield* row(sql`SELECT team_id FROM team WHERE team_id = ${teamId} ${FOR_UPDATE}`)) !== null;
};

function* isLastOwner(teamId: string, userId: string): Procedure<boolean> {
  const foundRow = yield* row(sql`
    SELECT EXISTS (SELECT 1 FROM team_member WHERE team_id = ${teamId} AND user_id = ${userId} AND role = 'owner')
      AND NOT EXISTS (SELECT 1 FROM team_member WHERE team_id = ${teamId} AND user_id <> ${userId} AND role = 'owner') AS last`);
  return foundRow !== null && flag(foundRow, 'last');
}

const upsertMember = (member: MemberRecord): Procedure<void> =>
  send(sql`${MEMBER.insert(member)} ON CONFLICT (user_id, team_id) DO UPDATE SET role = excluded.role`);

/** Creates the team with its owner. Fails if the id is taken, or if the owner is not a user. */
export function* createTeam(team: TeamRecord, owner: MemberRecord): Procedure<void> {
  yield* send(TEAM.insert(team));
  yield* upsertMember(owner);
}

export function* findTeam(teamId: string): Procedure<TeamRecord | null> {
  const foundRow = yield* row(sql`SELECT * FROM team WHERE team_id = ${teamId}`);
  return foundRow && TEAM.read(foundRow);
}

/** Returns the teams of the user in the order of creation, with the user's role in each. */
export function* listTeams(userId: string): Procedure<readonly (TeamRecord & { readonly role: Role })[]> {
  const foundRows = yield* rows(sql`
    SELECT t.*, m.role FROM team_member m JOIN team t ON t.team_id = m.team_id WHERE m.user_id = ${userId}`);
  return foundRows
    .toSorted((a, b) => integer(a, 'seq') - integer(b, 'seq'))
    .map((team) => ({ ...TEAM.read(team), role: word(team, 'role', ROLES) }));
}

/** Returns whether the account, of a user or a team, owns queue instances or search indexes. */
export function* ownsResources(accountId: string): Procedure<boolean> {
  const foundRow = yield* row(sql`
    SELECT EXISTS (SELECT 1 FROM queue_instance WHERE account_id = ${accountId})
      OR EXISTS (SELECT 1 FROM search_index WHERE account_id = ${accountId} AND ${isFalse('deleted')}) AS owns`);
  return foundRow === null || flag(foundRow, 'owns');
}

/**
 * Removes the user from all teams, as `deleteUser` describes. Returns the ids of the deleted teams, or
 * `last-owner` without a change.
 */
export function* leaveAllTeams(
  userId: string,
  successorId: string | null,
): Procedure<{ readonly deleted: readonly string[] } | 'last-owner'> {
  const deletedTeamIds: string[] = [];
  const inheritedTeamIds: string[] = [];
  const teamIds = (yield* listTeams(userId)).map(({ teamId }) => teamId).sort();
  for (const teamId of teamIds) {
    yield* lockTeam(teamId);
    if (!(yield* isLastOwner(teamId, userId))) continue;
    const members = yield* listMembers(teamId);
    if (members.length === 1 && !(yield* ownsResources(teamId))) deletedTeamIds.push(teamId);
    else if (successorId !== userId && members.some((member) => member.userId === successorId)) inheritedTeamIds.push(teamId);
    else return 'last-owner';
  }
  for (const teamId of inheritedTeamIds)
    yield* send(sql`UPDATE team_member SET role = 'owner' WHERE team_id = ${teamId} AND user_id = ${successorId}`);
  for (const teamId of deletedTeamIds) yield* deleteTeam(teamId);
  yield* send(sql`DELETE FROM team_member WHERE user_id = ${userId}`);
  return { deleted: deletedTeamIds };
}

/** Deletes the team with its invitations. */
export function* deleteTeam(teamId: string): Procedure<'deleted' | 'not-found' | 'owns-resources'> {
  if (!(yield* lockTeam(teamId))) return 'not-found';
  if (yield* ownsResources(teamId)) return 'owns-resources';
  yield* send(sql`DELETE FROM team_member WHERE team_id = ${teamId}`);
  yield* send(sql`DELETE FROM team WHERE team_id = ${teamId}`);
  yield* send(sql`DELETE FROM invitation WHERE team_id = ${teamId}`);
  return 'deleted';
}

/** Returns the members in the order in which they were added. */
export function* listMembers(teamId: string): Procedure<readonly MemberRecord[]> {
  const foundRows = yield* rows(sql`
    SELECT m.*, u.email FROM team_member m JOIN account_user u ON u.user_id = m.user_id
    WHERE m.team_id = ${teamId} ORDER BY m.seq`);
  return foundRows.map((member) => ({ ...MEMBER.read(member), email: text(member, 'email') }));
}

export function* roleInTeam(teamId: string, userId: string): Procedure<Role | null> {
  const foundRow = yield* row(sql`SELECT role FROM team_member WHERE team_id = ${teamId} AND user_id = ${userId}`);
  return foundRow && word(foundRow, 'role', ROLES);
}

/** Adds the member or changes its role, but not the time when it was added. Fails if there is no such team or user. */
export function* putMember(member: MemberRecord): Procedure<'done' | 'last-owner'> {
  const { teamId, userId, role } = member;
  yield* lockTeam(teamId);
  if (role !== 'owner' && (yield* isLastOwner(teamId, userId))) return 'last-owner';
  yield* upsertMember(member);
  return 'done';
}

/** Removes the member, and the invitations that the member sent. */
export function* removeMember(teamId: string, userId: string): Procedure<'done' | 'not-found' | 'last-owner'> {
  yield* lockTeam(teamId);
  if (yield* isLastOwner(teamId, userId)) return 'last-owner';
  const removedCount = yield* count(sql`DELETE FROM team_member WHERE team_id = ${teamId} AND user_id = ${userId}`);
  if (removedCount !== 1) return 'not-found';
  yield* send(sql`DELETE FROM invitation WHERE invited_by = ${userId} AND team_id = ${teamId}`);
  return 'done';
}

/**
 * Adds the invitation. Replaces one for the same address, and deletes expired ones. Fails if there is no such team, or if the id
 * or the hash is taken.
 */
export function* putInvitation(invitation: InvitationRecord): Procedure<void> {
  const { teamId, email, createdAt } = invitation;
  yield* send(sql`DELETE FROM invitation WHERE (team_id = ${teamId} AND email = ${email}) OR expires_at <= ${createdAt}`);
  // The team is locked, so a concurrent deletion of the team leaves no invitation behind.
  const team = yield* row(sql`SELECT team_id FROM team WHERE team_id = ${teamId} ${FOR_KEY_SHARE}`);
  if (!team) throw new Error(`there is no team ${teamId}`);
  yield* send(INVITATION.insert(invitation));
}

export function* findInvitation(
  query: { readonly invitationId: string } | { readonly secretHash: string },
): Procedure<InvitationRecord | null> {
  const foundRow =
    'invitationId' in query
      ? yield* row(sql`SELECT * FROM invitation WHERE invitation_id = ${query.invitationId}`)
      : yield* row(sql`SELECT * FROM invitation WHERE secret_hash = ${query.secretHash}`);
  return foundRow && INVITATION.read(foundRow);
}

/** Returns the invitations in the order of creation. */
export function* listInvitations(
  query: { readonly teamId: string } | { readonly invitedBy: string },
): Procedure<readonly InvitationRecord[]> {
  const condition = 'teamId' in query ? sql`team_id = ${query.teamId}` : sql`invited_by = ${query.invitedBy}`;
  return (yield* rows(sql`SELECT * FROM invitation WHERE ${condition} ORDER BY seq`)).map(INVITATION.read);
}

export function* deleteInvitation(invitationId: string): Procedure<boolean> {
  return (yield* count(sql`DELETE FROM invitation WHERE invitation_id = ${invitationId}`)) === 1;
}

/** Deletes the invitations that the user sent, to all teams. */
export const deleteInvitationsOfInviter = (userId: string): Procedure<void> =>
  send(sql`DELETE FROM invitation WHERE invited_by = ${userId}`);
