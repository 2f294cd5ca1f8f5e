/** Teams, their members and invitations in the store. */
import type { AccountId, AuditEntry } from './records.js';
import type { ApiKeyRecord, UserRecord } from './users.js';

export const ROLES = ['owner', 'admin', 'dev', 'finance'] as const;
export type Role = (typeof ROLES)[number];

export interface TeamRecord {
  readonly teamId: string;
  readonly name: string;
  readonly createdAt: number;
}

export interface MemberRecord {
  readonly teamId: string;
  readonly userId: string;
  readonly email: string;
  readonly role: Role;
  readonly addedAt: number;
}

/** A pending invitation of an email address to a team. It is deleted when it is accepted, declined or revoked. */
export interface InvitationRecord {
  readonly invitationId: string;
  readonly teamId: string;
  /** Lowercase email address. A user with this address may or may not exist. */
  readonly email: string;
  readonly role: Role;
  /** SHA-256 of the secret in hexadecimal. The secret itself is never stored. */
  readonly secretHash: string;
  /** User id of the inviter. */
  readonly invitedBy: string;
  /** Time when the invitation was created, Unix ms. */
  readonly createdAt: number;
  /** Time when the invitation expires, Unix ms. */
  readonly expiresAt: number;
}

/** Stores teams and invitations. */
export interface TeamStore {
  createTeam(query: { readonly team: TeamRecord; readonly owner: MemberRecord; readonly audit?: AuditEntry }): Promise<void>;
  findTeam(query: { readonly teamId: string }): Promise<TeamRecord | null>;
  /** Lists the teams that the user is a member of, ordered by creation, with the user's role in each. */
  listTeams(query: { readonly userId: string }): Promise<readonly (TeamRecord & { readonly role: Role })[]>;
  /**
   * Deletes the team and its invitations. Returns `owns-resources` if queue instances or search indexes must be moved or
   * deleted first.
   */
  deleteTeam(query: {
    readonly teamId: string;
    readonly audit?: AuditEntry;
  }): Promise<'deleted' | 'not-found' | 'owns-resources'>;
  /** Lists the members, ordered by the time they were added. */
  listMembers(query: { readonly teamId: string }): Promise<readonly MemberRecord[]>;
  /** Adds the member or changes its role. Returns `last-owner` if the team would have no owner left. */
  putMember(query: { readonly member: MemberRecord; readonly audit?: AuditEntry }): Promise<'done' | 'last-owner'>;
  /** Removes the member, and the invitations to the team that the member created. */
  removeMember(query: {
    readonly teamId: string;
    readonly userId: string;
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found' | 'last-owner'>;
  /**
   * Stores an invitation and replaces an earlier one of the same email address to the same team. Deletes invitations that
   * expired by `createdAt`.
   */
  putInvitation(query: { readonly invitation: InvitationRecord; readonly audit?: AuditEntry }): Promise<void>;
  /** Lists the invitations, including expired ones, ordered by creation. */
  listInvitations(query: { readonly teamId: string } | { readonly invitedBy: string }): Promise<readonly InvitationRecord[]>;
  /** Finds an invitation, which may have expired. */
  findInvitation(query: { readonly invitationId: string } | { readonly secretHash: string }): Promise<InvitationRecord | null>;
  /** Deletes the invitation. Returns false if there is none. */
  deleteInvitation(query: { readonly invitationId: string; readonly audit?: AuditEntry }): Promise<boolean>;
  /**
   * Deletes the invitation, creates the user if one is given, and adds the member. Returns `not-found` without
   * a change if there is no such invitation.
   */
  acceptInvitation(query: {
    readonly invitationId: string;
    readonly member: MemberRecord;
    readonly created?: { readonly user: UserRecord; readonly apiKey: ApiKeyRecord };
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found'>;
  /** Returns the role of a user in an account: `owner` in the personal account; null if the user has no access. */
  roleOf(query: { readonly accountId: AccountId; readonly userId: string }): Promise<Role | null>;
}
