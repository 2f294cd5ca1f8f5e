/** Teams and their members. */
import type { StatementSync } from 'node:sqlite';
import { type MemberRecord, ROLES, type Role, type TeamRecord } from '../../../ports/stores/account-store.js';
import { integer, type Row, text, word } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

/** Whether an account owns something: each is asked with the account's id, and a row says yes. */
const OWNS_SOMETHING: readonly string[] = [
  'SELECT 1 FROM queue_instance WHERE account_id = ? LIMIT 1',
  'SELECT 1 FROM search_index WHERE account_id = ? AND deleted = 0 LIMIT 1',
];

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

export class AccountTeams {
  private readonly insertTeam: StatementSync;
  private readonly selectTeam: StatementSync;
  private readonly selectTeams: StatementSync;
  private readonly deleteTeam: StatementSync;
  private readonly selectOwned: readonly StatementSync[];
  private readonly makeOwner: StatementSync;
  private readonly deleteMemberships: StatementSync;
  private readonly upsertMember: StatementSync;
  private readonly selectMembers: StatementSync;
  private readonly selectRole: StatementSync;
  private readonly selectOtherOwner: StatementSync;
  private readonly deleteMember: StatementSync;
  private readonly deleteMembers: StatementSync;

  constructor(connection: Connection) {
    this.insertTeam = connection.prepare('INSERT INTO team (team_id, name, created_at) VALUES (?, ?, ?)');
    this.selectTeam = connection.prepare('SELECT * FROM team WHERE team_id = ?');
    this.selectTeams = connection.prepare(
      `SELECT team.*, team_member.role FROM team_member JOIN team ON team.team_id = team_member.team_id
       WHERE team_member.user_id = ?`,
    );
    this.deleteTeam = connection.prepare('DELETE FROM team WHERE team_id = ?');
    this.makeOwner = connection.prepare(`UPDATE team_member SET role = 'owner' WHERE team_id = ? AND user_id = ?`);
    this.deleteMemberships = connection.prepare('DELETE FROM team_member WHERE user_id = ?');
    this.selectOwned = OWNS_SOMETHING.map((sql) => connection.prepare(sql));
    this.upsertMember = connection.prepare(
      `INSERT INTO team_member (team_id, user_id, role, added_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (user_id, team_id) DO UPDATE SET role = excluded.role`,
    );
    this.selectMembers = connection.prepare(
      `SELECT team_member.*, account_user.email FROM team_member
       JOIN account_user ON account_user.user_id = team_member.user_id
       WHERE team_member.team_id = ? ORDER BY team_member.seq`,
    );
    this.selectRole = connection.prepare('SELECT role FROM team_member WHERE team_id = ? AND user_id = ?');
    this.selectOtherOwner = connection.prepare(
      `SELECT 1 FROM team_member WHERE team_id = ? AND user_id <> ? AND role = 'owner' LIMIT 1`,
    );
    this.deleteMember = connection.prepare('DELETE FROM team_member WHERE team_id = ? AND user_id = ?');
    this.deleteMembers = connection.prepare('DELETE FROM team_member WHERE team_id = ?');
  }

  /** Throws when the id is taken, or when the owner is no user. */
  create({ teamId, name, createdAt }: TeamRecord, owner: MemberRecord): void {
    this.insertTeam.run(teamId, name, createdAt);
    this.upsertMember.run(teamId, owner.userId, owner.role, owner.addedAt);
  }

  find(teamId: string): TeamRecord | null {
    const row = this.selectTeam.get(teamId);
    return row ? teamOf(row) : null;
  }

  /** By creation. */
  list(userId: string): readonly (TeamRecord & { readonly role: Role })[] {
    const rows = this.selectTeams.all(userId).sort((a, b) => integer(a, 'seq') - integer(b, 'seq'));
    return rows.map((row) => ({ ...teamOf(row), role: roleIn(row) }));
  }

  /** Whether the account, of a user or a team, owns queue instances or search indexes. */
  ownsSomething(accountId: string): boolean {
    return this.selectOwned.some((statement) => statement.get(accountId) !== undefined);
  }

  /** Takes the user out of all its teams, as `deleteUser` says. `last-owner`: nothing was changed. */
  leaveAll(userId: string, successorId: string | null): { readonly deleted: readonly string[] } | 'last-owner' {
    const owned = this.list(userId).filter(({ teamId }) => this.isLastOwner(teamId, userId));
    const lonely = owned.filter(({ teamId }) => this.members(teamId).length === 1 && !this.ownsSomething(teamId));
    const handedOver = owned.filter((team) => !lonely.includes(team));
    const mayTake = (teamId: string): boolean =>
      successorId !== null && successorId !== userId && this.roleOf(teamId, successorId) !== null;
    if (!handedOver.every(({ teamId }) => mayTake(teamId))) return 'last-owner';
    for (const { teamId } of handedOver) this.makeOwner.run(teamId, successorId);
    for (const { teamId } of lonely) this.delete(teamId);
    this.deleteMemberships.run(userId);
    return { deleted: lonely.map(({ teamId }) => teamId) };
  }

  delete(teamId: string): 'deleted' | 'not-found' | 'owns-something' {
    if (!this.find(teamId)) return 'not-found';
    if (this.ownsSomething(teamId)) return 'owns-something';
    this.deleteMembers.run(teamId);
    this.deleteTeam.run(teamId);
    return 'deleted';
  }

  /** By the time they were added. */
  members(teamId: string): readonly MemberRecord[] {
    return this.selectMembers.all(teamId).map(memberOf);
  }

  roleOf(teamId: string, userId: string): Role | null {
    const row = this.selectRole.get(teamId, userId);
    return row ? roleIn(row) : null;
  }

  /** A member that gets another role keeps the time at which it was added. Throws when there is no such team or user. */
  putMember({ teamId, userId, role, addedAt }: MemberRecord): 'done' | 'last-owner' {
    if (role !== 'owner' && this.isLastOwner(teamId, userId)) return 'last-owner';
    this.upsertMember.run(teamId, userId, role, addedAt);
    return 'done';
  }

  removeMember(teamId: string, userId: string): 'done' | 'not-found' | 'last-owner' {
    if (this.isLastOwner(teamId, userId)) return 'last-owner';
    return this.deleteMember.run(teamId, userId).changes === 1 ? 'done' : 'not-found';
  }

  private isLastOwner(teamId: string, userId: string): boolean {
    return this.roleOf(teamId, userId) === 'owner' && this.selectOtherOwner.get(teamId, userId) === undefined;
  }
}
