/**
 * The account data in the store: users, their keys, teams, queue instances and their tokens, usage, the audit log.
 * Accounts change rarely. Each method is one durable transaction, and every change writes its audit entry in the same
 * transaction.
 */

import type { AuditNote, CountOfDay, DayCountKind } from '../../engine/writes.js';
import type { DeletedInstanceStore } from './deleted-instances.js';
import type { InstallationSecretStore } from './installation-secrets.js';
import type { NamedTokenStore } from './named-tokens.js';
import type { SignInStore } from './sign-in-store.js';
import type { InstanceTotals } from './stored-bytes.js';

export type { CountOfDay, DayCountKind } from '../../engine/writes.js';

/** Id of an account, which owns things: the user id of a personal account, or the team id of a team. */
export type AccountId = string;

export interface UserRecord {
  readonly userId: string;
  /** Unique; lower case. */
  readonly email: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms. Absent: the user can log in. */
  readonly disabledAt?: number;
  /** Can set plans and manage users. Absent: no. */
  readonly isOperator?: true;
}

export interface ApiKeyRecord {
  readonly apiKeyId: string;
  readonly userId: string;
  readonly name: string;
  /** SHA-256 of the key, hex. The key itself is never stored. */
  readonly keyHash: string;
  readonly createdAt: number;
  /** Absent: the key is valid. */
  readonly revokedAt?: number;
}

/** A session of a logged-in user, identified by a secret. */
export interface SessionRecord {
  /** SHA-256 of the secret, hex. The secret itself is never stored. */
  readonly sessionHash: string;
  readonly userId: string;
  /** The session ends when this key is revoked. Null: the user signed in with an identity provider. */
  readonly apiKeyId: string | null;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms. */
  readonly expiresAt: number;
}

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

/**
 * Destinations that an instance may call, in addition to the settings of the installation. Entries are destination
 * rules, such as `10.0.0.5:8080`.
 */
export interface OutboundRules {
  /** Private destinations that the operator allows for this instance. */
  readonly allow: readonly string[];
  /** Destinations that the owner of the instance forbids. */
  readonly deny: readonly string[];
  /** The only destinations that the owner of the instance permits; null: no such restriction. */
  readonly only: readonly string[] | null;
}

/** A pending invitation of an e-mail address to a team. It is deleted when it is accepted, declined or revoked. */
export interface InvitationRecord {
  readonly invitationId: string;
  readonly teamId: string;
  /** Lower case. A user with this address may or may not exist. */
  readonly email: string;
  readonly role: Role;
  /** SHA-256 of the secret, hex. The secret itself is never stored. */
  readonly secretHash: string;
  /** User id of the inviter. */
  readonly invitedBy: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms. */
  readonly expiresAt: number;
}

/** A queue instance as it is stored. */
export interface QueueInstance {
  readonly instanceId: string;
  readonly region: string;
  readonly name: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly currentSigningKey: string;
  readonly nextSigningKey: string;
  /**
   * Account that owns the instance and is billed for it; absent if it has no owner, because it was created by a
   * version without accounts.
   */
  readonly accountId?: AccountId;
  /** Name of its plan; absent: the default plan. */
  readonly plan?: string;
  /** Dollars per calendar month (UTC); 0 or absent: no limit. */
  readonly budgetDollars?: number;
  /** URL that is notified when 80 % and 100 % of the budget are spent. */
  readonly budgetAlertUrl?: string;
  /** Dollars per 100,000 messages counted from now on; absent until it is first set. */
  readonly price?: number;
  /** Absent: only the settings of the installation apply. */
  readonly outboundRules?: OutboundRules;
  /** Private keys of Ed25519 signatures, PKCS #8 in base64url; absent: Ed25519 signatures are disabled. */
  readonly keyPairs?: SigningKeyPairs;
  /** Origins that steps were delivered to; absent: none. */
  readonly workflowOrigins?: readonly string[];
  /** Origins and patterns that the owner set. Plain messages to them are signed with the signing keys. Absent: not set. */
  readonly signedOrigins?: readonly string[];
}

/** The current pair signs; the next pair replaces it at the next rotation. */
export interface SigningKeyPairs {
  readonly current: string;
  readonly next: string;
}

/** Changes to an instance. Null removes a value, absent keeps it. */
export interface InstanceChange {
  readonly accountId?: AccountId;
  readonly name?: string;
  readonly plan?: string | null;
  readonly budgetDollars?: number;
  readonly budgetAlertUrl?: string | null;
  /** Also applies to messages counted while there was no price. */
  readonly price?: number;
  readonly outboundRules?: OutboundRules | null;
  readonly keyPairs?: SigningKeyPairs | null;
  readonly signedOrigins?: readonly string[] | null;
}

/** A token that a queue instance was created with, or its replacement. */
export interface TokenRecord {
  /** The `jti` of the JWT. */
  readonly tokenId: string;
  readonly instanceId: string;
  readonly access: 'read-write' | 'read-only';
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

/** Messages of one instance, billed to one account at one price, in one calendar month. */
export interface UsageRecord {
  readonly instanceId: string;
  readonly accountId: AccountId | null;
  /** UTC, such as `2026-11`. */
  readonly month: string;
  /** Price of the instance when they were counted, dollars per 100,000; null if it had none. */
  readonly price: number | null;
  readonly messages: number;
}

/** The same for one day. */
export interface DayUsageRecord extends Omit<UsageRecord, 'month'> {
  /** UTC, such as `2026-11-21`. */
  readonly day: string;
}

/** Number of days before the latest one whose counts are kept. */
export const DAYS_KEPT = 31;

/** Maximum number of locations kept per user from which the user has logged in; the most recently used ones are kept. */
export const MAX_LOGIN_LOCATIONS = 50;

/** Maximum number of sessions of a user; the most recently started ones are kept. */
export const MAX_SESSIONS_PER_USER = 50;

/** How often something happened to an instance on one day (UTC). */
export interface DayCount {
  readonly instanceId: string;
  /** Days since 1970. */
  readonly day: number;
  readonly what: DayCountKind;
  readonly count: number;
  /** Unix ms. */
  readonly lastAt: number;
}

/**
 * Identifies an alert. There is one for each percentage of an instance's budget and month, until the budget or the
 * owner changes.
 */
export interface BudgetAlertId {
  readonly instanceId: string;
  /** UTC, such as `2026-11`. */
  readonly month: string;
  readonly percent: number;
}

/** An alert that has not been delivered to its owner yet. */
export interface PendingBudgetAlert extends BudgetAlertId {
  /** JSON body of the notification. */
  readonly body: string;
  /** Number of attempts so far. */
  readonly retried: number;
  /** Unix ms. */
  readonly dueAt: number;
}

/** An entry of the audit log. */
export type AuditEntry = AuditNote;

/** The secret keys of an instance. */
export type InstanceKeys = Pick<QueueInstance, 'currentSigningKey' | 'nextSigningKey' | 'keyPairs'>;

/** The store of accounts. */
export interface AccountStore extends NamedTokenStore, InstallationSecretStore, DeletedInstanceStore, SignInStore {
  /**
   * Does the work while no other process that uses the store does such work on one of these accounts, or on any
   * account if `accountIds` is null. Other callers wait. Must not be nested. Absent: no other process uses the store.
   */
  readonly exclusively?: <Result>(work: () => Promise<Result>, accountIds: readonly AccountId[] | null) => Promise<Result>;

  createUser(query: { readonly user: UserRecord; readonly apiKey: ApiKeyRecord; readonly audit?: AuditEntry }): Promise<void>;
  /** By creation. */
  listUsers(): Promise<readonly UserRecord[]>;
  /** By creation, after the user `after`; empty if that user does not exist. */
  pageOfUsers(query: { readonly after: string | null; readonly limit: number }): Promise<readonly UserRecord[]>;
  findUser(query: { readonly userId: string }): Promise<UserRecord | null>;
  /**
   * Disables the user at a time (Unix ms), or enables it (null). Disabling ends its sessions and deletes the
   * invitations that it made. `last-operator`: at least one operator must remain enabled.
   */
  setUserDisabled(query: {
    readonly userId: string;
    readonly at: number | null;
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found' | 'last-operator'>;
  /** Grants or revokes the operator role. `last-operator`: at least one operator must remain enabled. */
  setOperator(query: {
    readonly userId: string;
    readonly isOperator: boolean;
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found' | 'last-operator'>;
  /**
   * Deletes the user with its keys, sessions, memberships and invitations, and with teams that have no other member
   * and own nothing. The successor becomes an owner of each team that would have none, and must be a member of it.
   * `owns-something`: queue instances or search indexes must be moved or deleted first. Audit entries are kept.
   */
  deleteUser(query: {
    readonly userId: string;
    readonly successorId: string | null;
    readonly audit?: AuditEntry;
  }): Promise<'deleted' | 'not-found' | 'owns-something' | 'last-owner' | 'last-operator'>;
  /** `email` in lower case. */
  findUserByEmail(query: { readonly email: string }): Promise<UserRecord | null>;

  createApiKey(query: { readonly apiKey: ApiKeyRecord; readonly audit?: AuditEntry }): Promise<void>;
  /** By creation, including revoked ones. */
  listApiKeys(query: { readonly userId: string }): Promise<readonly ApiKeyRecord[]>;
  /** Revokes the key and ends the sessions that were started with it. Returns false if the user has no such valid key. */
  revokeApiKey(query: {
    readonly apiKeyId: string;
    readonly userId: string;
    readonly at: number;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;

  /** Revokes all valid keys of the user and ends its sessions. Returns the number of revoked keys. */
  revokeApiKeys(query: { readonly userId: string; readonly at: number; readonly audit?: AuditEntry }): Promise<number>;

  /**
   * Creates a session, and removes sessions that ended by `createdAt` and those of the user beyond `MAX_SESSIONS_PER_USER`.
   * Returns false and writes nothing if the user has no such valid key or is disabled.
   */
  createSession(query: { readonly session: SessionRecord; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Returns the session with its user, or null if there is none. The session may have expired. */
  findSession(query: {
    readonly sessionHash: string;
  }): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | null>;
  /** Moves the end of a session, if it exists. The write is not synced, so a crash can undo it. */
  extendSession(query: { readonly sessionHash: string; readonly expiresAt: number }): Promise<void>;
  /** Sessions of the user, the latest first. Some may have expired. */
  listSessions(query: { readonly userId: string }): Promise<readonly SessionRecord[]>;
  /** Returns false if there is none. */
  deleteSession(query: { readonly sessionHash: string; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Ends all sessions of the user and returns their number. The audit entry is written only if there were some. */
  deleteSessions(query: { readonly userId: string; readonly audit?: AuditEntry }): Promise<number>;

  createTeam(query: { readonly team: TeamRecord; readonly owner: MemberRecord; readonly audit?: AuditEntry }): Promise<void>;
  findTeam(query: { readonly teamId: string }): Promise<TeamRecord | null>;
  /** Teams that the user is a member of, by creation, with the user's role. */
  listTeams(query: { readonly userId: string }): Promise<readonly (TeamRecord & { readonly role: Role })[]>;
  /**
   * Deletes the team and its invitations. `owns-something`: queue instances or search indexes must be moved or
   * deleted first.
   */
  deleteTeam(query: {
    readonly teamId: string;
    readonly audit?: AuditEntry;
  }): Promise<'deleted' | 'not-found' | 'owns-something'>;
  /** By the time they were added. */
  listMembers(query: { readonly teamId: string }): Promise<readonly MemberRecord[]>;
  /** Adds the member or changes its role. `last-owner`: a team keeps at least one owner. */
  putMember(query: { readonly member: MemberRecord; readonly audit?: AuditEntry }): Promise<'done' | 'last-owner'>;
  /** Removes the member and the invitations to the team that it made. */
  removeMember(query: {
    readonly teamId: string;
    readonly userId: string;
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found' | 'last-owner'>;
  /**
   * Replaces an earlier invitation of the same e-mail address to the same team. Deletes invitations that expired by
   * `createdAt`.
   */
  putInvitation(query: { readonly invitation: InvitationRecord; readonly audit?: AuditEntry }): Promise<void>;
  /** By creation, including expired ones. */
  listInvitations(query: { readonly teamId: string } | { readonly invitedBy: string }): Promise<readonly InvitationRecord[]>;
  /** The invitation may have expired. */
  findInvitation(query: { readonly invitationId: string } | { readonly secretHash: string }): Promise<InvitationRecord | null>;
  /** Returns false if there is none. */
  deleteInvitation(query: { readonly invitationId: string; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Deletes the invitation, creates the user if one is given, and adds the member. `not-found`: nothing was changed. */
  acceptInvitation(query: {
    readonly invitationId: string;
    readonly member: MemberRecord;
    readonly created?: { readonly user: UserRecord; readonly apiKey: ApiKeyRecord };
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found'>;
  /** Returns the role of a user in an account: `owner` in the personal account; null without access. */
  roleOf(query: { readonly accountId: AccountId; readonly userId: string }): Promise<Role | null>;

  /** Creates an instance with its first tokens. Rejects if the id is taken, or if the account does not exist. */
  createInstance(instance: QueueInstance, audit?: AuditEntry, tokens?: readonly TokenRecord[]): Promise<void>;
  findInstance(query: { readonly instanceId: string }): Promise<QueueInstance | null>;
  /** By creation. */
  listInstances(): Promise<readonly QueueInstance[]>;
  /** Instances of these accounts, by creation. */
  instancesOf(query: { readonly accountIds: readonly AccountId[] }): Promise<readonly QueueInstance[]>;
  /**
   * Returns the stored bytes and active runs of each instance of the account, by creation. They are counted in the
   * unit that changes them.
   */
  totalsOf(query: { readonly accountId: AccountId }): Promise<readonly InstanceTotals[]>;
  /**
   * Returns the changed instance, or null if there is none. A different budget (none and 0 are equal) or a different
   * owner removes all alerts of the instance, including pending ones.
   */
  changeInstance(query: {
    readonly instanceId: string;
    readonly change: InstanceChange;
    readonly audit?: AuditEntry;
  }): Promise<QueueInstance | null>;
  setSigningKeys(query: {
    readonly instanceId: string;
    readonly current: string;
    readonly next: string;
    readonly audit?: AuditEntry;
  }): Promise<void>;

  /** Replaces signing keys and key pairs if they equal `from`. Returns false without a change if they do not. */
  replaceInstanceKeys(query: {
    readonly instanceId: string;
    readonly from: InstanceKeys;
    readonly to: InstanceKeys;
  }): Promise<boolean>;

  /** Adds an origin to `workflowOrigins`, unless it is already there or `limit` is reached. */
  addWorkflowOrigin(query: { readonly instanceId: string; readonly origin: string; readonly limit: number }): Promise<void>;

  createToken(token: TokenRecord): Promise<void>;
  findToken(query: { readonly tokenId: string }): Promise<TokenRecord | null>;
  listTokens(query: { readonly instanceId: string }): Promise<readonly TokenRecord[]>;
  revokeToken(query: { readonly tokenId: string; readonly at: number }): Promise<void>;
  /** Revokes every valid token of the instance and adds these tokens. Returns the ids of the revoked ones. */
  replaceTokens(query: {
    readonly instanceId: string;
    readonly tokens: readonly TokenRecord[];
    readonly at: number;
    readonly audit?: AuditEntry;
  }): Promise<readonly string[]>;

  /** Usage of the instance, over all accounts and prices, newest month first. Written by `count-messages`. */
  usage(query: { readonly instanceId: string; readonly fromMonth: string }): Promise<readonly UsageRecord[]>;
  /**
   * Usage by day, oldest first. Older versions counted only by month, so early days can be missing. `fromDay`:
   * `2026-11-21`.
   */
  usageOfDays(query: { readonly instanceId: string; readonly fromDay: string }): Promise<readonly DayUsageRecord[]>;
  /** Adds to the counters of a day, in one transaction, for events without a unit. */
  countOfDay(counts: readonly Omit<CountOfDay, 'kind'>[]): Promise<void>;
  /** Counters of the instance from a day on (days since 1970), newest first. Also written by `count-of-day`. */
  countsOfDays(query: { readonly instanceId: string; readonly fromDay: number }): Promise<readonly DayCount[]>;
  /**
   * Stores that this percentage of the month's budget was reached, and with it all lower ones. Returns true for the
   * first caller: the alert is then pending, and the lower ones are not. Returns false without a change if the budget
   * or the owner is no longer the given one. Can delete delivered alerts of earlier months.
   */
  createBudgetAlert(query: {
    readonly alert: PendingBudgetAlert;
    readonly lesser: readonly number[];
    readonly budgetDollars: number;
    readonly accountId: AccountId | null;
  }): Promise<boolean>;
  /** Pending alerts that are due at or before `before` (Unix ms), earliest first. */
  dueBudgetAlerts(query: { readonly before: number; readonly limit: number }): Promise<readonly PendingBudgetAlert[]>;
  /** Returns when the next alert after `after` is due, Unix ms; null if there is none. */
  nextBudgetAlertAt(query: { readonly after: number }): Promise<number | null>;
  /**
   * Moves a pending alert before or after an attempt to deliver it: due again, or (null) no longer pending. Returns
   * false without a change if the alert has changed since it was read.
   */
  rescheduleBudgetAlert(query: {
    readonly alert: PendingBudgetAlert;
    readonly retried: number;
    readonly dueAt: number | null;
  }): Promise<boolean>;

  /** Returns when a login of the user from this location was last noted, Unix ms; null if never. `place` is any text. */
  lastLoginAt(query: { readonly userId: string; readonly place: string }): Promise<number | null>;
  /** Notes a login. The write is not synced, so a crash can undo it. Limited by `MAX_LOGIN_LOCATIONS`. */
  noteLogin(query: { readonly userId: string; readonly place: string; readonly at: number }): Promise<void>;

  /** Adds an entry for an event that changed no record, such as a failed login. */
  addAudit(entry: AuditEntry): Promise<void>;
  /**
   * Entries that one of these accounts may read, newest first, after `after`. Null: all entries, including those
   * without an account.
   */
  listAudit(query: {
    readonly accountIds: readonly AccountId[] | null;
    readonly after: string | null;
    readonly limit: number;
  }): Promise<readonly AuditEntry[]>;
}
