/** Teams and their members. Whoever changes one locks its row first, so that two changes at once see each other. */
import { type MemberRecord, ROLES, type Role, type TeamRecord } from '../../../ports/stores/account-store.js';
import { integer, type Row, text, word } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

const INSERT_TEAM = statement('INSERT INTO team (team_id, name, created_at) VALUES ($1, $2, $3)');
const SELECT_TEAM = statement('SELECT * FROM team WHERE team_id = $1');
const LOCK_TEAM = statement('SELECT team_id FROM team WHERE team_id = $1 FOR UPDATE');
const SELECT_TEAMS = statement(`
  SELECT t.*, m.role FROM team_member m JOIN team t ON t.team_id = m.team_id WHERE m.user_id = $1 ORDER BY t.seq`);
const DELETE_MEMBERS = statement('DELETE FROM team_member WHERE team_id = $1');
const DELETE_TEAM = statement('DELETE FROM team WHERE team_id = $1');
const OWNS_SOMETHING = statement(`
  SELECT EXISTS (SELECT 1 FROM queue_instance WHERE account_id = $1)
    OR EXISTS (SELECT 1 FROM search_index WHERE account_id = $1 AND NOT deleted) AS owns`);
const PUT_MEMBER = statement(`
  INSERT INTO team_member (team_id, user_id, role, added_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (user_id, team_id) DO UPDATE SET role = excluded.role`);
const SELECT_MEMBERS = statement(`
  SELECT m.*, u.email FROM team_member m JOIN account_user u ON u.user_id = m.user_id WHERE m.team_id = $1 ORDER BY m.seq`);
const SELECT_ROLE = statement('SELECT role FROM team_member WHERE team_id = $1 AND user_id = $2');
const IS_LAST_OWNER = statement(`
  SELECT EXISTS (SELECT 1 FROM team_member WHERE team_id = $1 AND user_id = $2 AND role = 'owner')
    AND NOT EXISTS (SELECT 1 FROM team_member WHERE team_id = $1 AND user_id <> $2 AND role = 'owner') AS last`);
const MAKE_OWNER = statement(`UPDATE team_member SET role = 'owner' WHERE team_id = $1 AND user_id = $2`);
const DELETE_MEMBERSHIPS = statement('DELETE FROM team_member WHERE user_id = $1');
const DELETE_MEMBER = statement('DELETE FROM team_member WHERE team_id = $1 AND user_id = $2');

const roleIn = (row: Row): Role => word(row, 'role', ROLES);

const teamOf = (row: Row): TeamRecord => ({
  teamId: text(row, 'team_id'),
  name: text(row, 'name'),
  createdAt: integer(row, 'created_at'),
});

const memberOf = (row: Row): MemberRecord => ({
  teamId: text(row, 'team_id'),
  userId: text(row, 'user_id'),
  email: text(row, 'email'),
  role: roleIn(row),
  addedAt: integer(row, 'added_at'),
});

/** False when there is none. */
async function lock(session: TransactionSession, teamId: string): Promise<boolean> {
  return (await session.query(LOCK_TEAM, [teamId])).length > 0;
}

async function isLastOwner(session: TransactionSession, teamId: string, userId: string): Promise<boolean> {
  const [row] = await session.query(IS_LAST_OWNER, [teamId, userId]);
  return row?.last === true;
}

/** Rejects when the id is taken, or when the owner is no user. */
export async function createTeam(
  session: TransactionSession,
  { teamId, name, createdAt }: TeamRecord,
  { userId, role, addedAt }: MemberRecord,
): Promise<void> {
  session.send(INSERT_TEAM, [teamId, name, createdAt]);
  await session.execute(PUT_MEMBER, [teamId, userId, role, addedAt]);
}

export async function findTeam(session: Session, teamId: string): Promise<TeamRecord | null> {
  const [row] = await session.query(SELECT_TEAM, [teamId]);
  return row ? teamOf(row) : null;
}

/** By creation. */
export async function listTeams(session: Session, userId: string): Promise<readonly (TeamRecord & { readonly role: Role })[]> {
  return (await session.query(SELECT_TEAMS, [userId])).map((row) => ({ ...teamOf(row), role: roleIn(row) }));
}

/** Whether the account, of a user or a team, owns queue instances or search indexes. */
export async function ownsSomething(session: TransactionSession, accountId: string): Promise<boolean> {
  const [row] = await session.query(OWNS_SOMETHING, [accountId]);
  return row?.owns !== false;
}

/** Takes the user out of all its teams, as `deleteUser` says. Returns the deleted teams; `last-owner`: nothing was changed. */
export async function leaveAllTeams(
  session: TransactionSession,
  userId: string,
  successorId: string | null,
): Promise<{ readonly deleted: readonly string[] } | 'last-owner'> {
  const deleted: string[] = [];
  const handedOver: string[] = [];
  const teamIds = (await listTeams(session, userId)).map(({ teamId }) => teamId).sort();
  for (const teamId of teamIds) {
    await lock(session, teamId);
    if (!(await isLastOwner(session, teamId, userId))) continue;
    const members = await listMembers(session, teamId);
    if (members.length === 1 && !(await ownsSomething(session, teamId))) deleted.push(teamId);
    else if (successorId !== userId && members.some((member) => member.userId === successorId)) handedOver.push(teamId);
    else return 'last-owner';
  }
  for (const teamId of handedOver) session.send(MAKE_OWNER, [teamId, successorId]);
  for (const teamId of deleted) await deleteTeam(session, teamId);
  await session.execute(DELETE_MEMBERSHIPS, [userId]);
  return { deleted };
}

export async function deleteTeam(
  session: TransactionSession,
  teamId: string,
): Promise<'deleted' | 'not-found' | 'owns-something'> {
  if (!(await lock(session, teamId))) return 'not-found';
  if (await ownsSomething(session, teamId)) return 'owns-something';
  session.send(DELETE_MEMBERS, [teamId]);
  await session.execute(DELETE_TEAM, [teamId]);
  return 'deleted';
}

/** By the time they were added. */
export async function listMembers(session: Session, teamId: string): Promise<readonly MemberRecord[]> {
  return (await session.query(SELECT_MEMBERS, [teamId])).map(memberOf);
}

export async function roleInTeam(session: Session, teamId: string, userId: string): Promise<Role | null> {
  const [row] = await session.query(SELECT_ROLE, [teamId, userId]);
  return row ? roleIn(row) : null;
}

/** A member that gets another role keeps the time at which it was added. Rejects when there is no such team or user. */
export async function putMember(
  session: TransactionSession,
  { teamId, userId, role, addedAt }: MemberRecord,
): Promise<'done' | 'last-owner'> {
  await lock(session, teamId);
  if (role !== 'owner' && (await isLastOwner(session, teamId, userId))) return 'last-owner';
  await session.execute(PUT_MEMBER, [teamId, userId, role, addedAt]);
  return 'done';
}

export async function removeMember(
  session: TransactionSession,
  teamId: string,
  userId: string,
): Promise<'done' | 'not-found' | 'last-owner'> {
  await lock(session, teamId);
  if (await isLastOwner(session, teamId, userId)) return 'last-owner';
  return (await session.execute(DELETE_MEMBER, [teamId, userId])) === 1 ? 'done' : 'not-found';
}
