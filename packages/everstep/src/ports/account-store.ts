/**
 * What the store keeps of accounts: users, their keys, teams, queue instances
 * and their tokens, usage, the audit log. Accounts change rarely: each method
 * is one durable transaction, and every change carries its audit entry, which
 * is written in the same transaction.
 */

import type { AuditNote, CountOfDay, DayCountKind } from '../engine/writes.js';
import type { DeletedInstanceStore } from './deleted-instances.js';
import type { InstallationSecretStore } from './installation-secrets.js';
import type { NamedTokenStore } from './named-tokens.js';
import type { SignInStore } from './sign-in-store.js';
import type { InstanceTotals } from './stored-bytes.js';

export type { CountOfDay, DayCountKind } from '../engine/writes.js';

/** An account owns things: a user's own (its id is the user's) or a team's (its id is the team's). */
export type AccountId = string;

export interface UserRecord {
  readonly userId: string;
  /** Unique; lower case. */
  readonly email: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms. Absent: the user may log in. */
  readonly disabledAt?: number;
  /** May set plans and manage users. Absent: no. */
  readonly isOperator?: true;
}

export interface ApiKeyRecord {
  readonly apiKeyId: string;
  readonly userId: string;
  readonly name: string;
  /** SHA-256 of the key, hex. The key itself is never stored. */
  readonly keyHash: string;
  readonly createdAt: number;
  /** Absent: it is good. */
  readonly revokedAt?: number;
}

/** Of a user who logged in, and is recognised by a secret since. */
export interface SessionRecord {
  /** SHA-256 of the secret, hex. The secret itself is never stored. */
  readonly sessionHash: string;
  readonly userId: string;
  /** The session ends with it. Null: the user signed in with an identity provider. */
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

/** What an instance may call, beside the settings of the installation. Entries are destination rules, such as `10.0.0.5:8080`. */
export interface OutboundRules {
  /** Private destinations that the operator lets this instance call. */
  readonly allow: readonly string[];
  /** Destinations that the owner of the instance forbids. */
  readonly deny: readonly string[];
  /** The only destinations that the owner of the instance permits; null: no such bound. */
  readonly only: readonly string[] | null;
}

/** A pending invitation of an e-mail to a team. It is deleted when it is accepted, declined or revoked. */
export interface InvitationRecord {
  readonly invitationId: string;
  readonly teamId: string;
  /** Lower case. Whether a user has it does not matter here. */
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

export interface QueueInstance {
  readonly instanceId: string;
  readonly region: string;
  readonly name: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly currentSigningKey: string;
  readonly nextSigningKey: string;
  /** Who owns it and is billed for it; absent for one that nobody owns yet (made before there were accounts). */
  readonly accountId?: AccountId;
  /** Name of its plan; absent: the default plan. */
  readonly plan?: string;
  /** Dollars a calendar month (UTC); 0 or absent: no limit. */
  readonly budgetDollars?: number;
  /** Told when 80 % and 100 % of the budget are spent. */
  readonly budgetAlertUrl?: string;
  /** Dollars that 100,000 messages cost which are counted from now on; absent until it was set once. */
  readonly price?: number;
  /** Absent: the settings of the installation alone. */
  readonly outboundRules?: OutboundRules;
  /** Private keys of Ed25519 signatures, PKCS #8 in base64url; absent: Ed25519 signatures are off. */
  readonly keyPairs?: SigningKeyPairs;
  /** Origins that steps were delivered to; absent: none. */
  readonly workflowOrigins?: readonly string[];
  /** Origins and patterns that the owner set: their plain messages are signed with the signing keys. Absent: not set. */
  readonly signedOrigins?: readonly string[];
}

/** The current one signs, the next one replaces it at the next rotation. */
export interface SigningKeyPairs {
  readonly current: string;
  readonly next: string;
}

/** What of an instance may change; null takes a value away, absent leaves it. */
export interface InstanceChange {
  readonly accountId?: AccountId;
  readonly name?: string;
  readonly plan?: string | null;
  readonly budgetDollars?: number;
  readonly budgetAlertUrl?: string | null;
  /** Also of what was counted while there was none. */
  readonly price?: number;
  readonly outboundRules?: OutboundRules | null;
  readonly keyPairs?: SigningKeyPairs | null;
  readonly signedOrigins?: readonly string[] | null;
}

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
  /** That of the instance when they were counted, dollars for 100,000; null while it had none. */
  readonly price: number | null;
  readonly messages: number;
}

/** The same of one day. */
export interface DayUsageRecord extends Omit<UsageRecord, 'month'> {
  /** UTC, such as `2026-11-21`. */
  readonly day: string;
}

/** Days behind the latest one whose counts stay. */
export const DAYS_KEPT = 31;

/** Places that a user has logged in from which stay: those used last. */
export const LOGIN_PLACES_KEPT = 50;

/** Sessions that a user has at once; those that began last stay. */
export const SESSIONS_KEPT = 50;

/** How often something happened to an instance in a day (UTC). */
export interface DayCount {
  readonly instanceId: string;
  /** Days since 1970. */
  readonly day: number;
  readonly what: DayCountKind;
  readonly count: number;
  /** Unix ms. */
  readonly lastAt: number;
}

/** There is one for each share of the budget of an instance and month, until the budget or the owner is another. */
export interface BudgetAlertId {
  readonly instanceId: string;
  /** UTC, such as `2026-11`. */
  readonly month: string;
  readonly percent: number;
}

/** An alert that its owner is still to be told. */
export interface OwedBudgetAlert extends BudgetAlertId {
  /** JSON: what is told. */
  readonly body: string;
  /** Attempts so far. */
  readonly retried: number;
  /** Unix ms. */
  readonly dueAt: number;
}

/** An entry of the audit log. */
export type AuditEntry = AuditNote;

/** What of an instance is secret. */
export type InstanceKeys = Pick<QueueInstance, 'currentSigningKey' | 'nextSigningKey' | 'keyPairs'>;

export interface AccountStore extends NamedTokenStore, InstallationSecretStore, DeletedInstanceStore, SignInStore {
  /**
   * Does the work while no other process on the store does such work on one of these accounts, or on any account when
   * `accountIds` is null; the others wait. Not to be called from within such work. Absent: no other process uses the store.
   */
  readonly exclusively?: <Result>(work: () => Promise<Result>, accountIds: readonly AccountId[] | null) => Promise<Result>;

  createUser(query: { readonly user: UserRecord; readonly apiKey: ApiKeyRecord; readonly audit?: AuditEntry }): Promise<void>;
  /** By creation. */
  listUsers(): Promise<readonly UserRecord[]>;
  /** By creation, after the user `after`; empty when there is no such user. */
  pageOfUsers(query: { readonly after: string | null; readonly limit: number }): Promise<readonly UserRecord[]>;
  findUser(query: { readonly userId: string }): Promise<UserRecord | null>;
  /**
   * Disables the user at a time (Unix ms), or enables it (null). Disabling ends its sessions and deletes the invitations
   * that it made. `last-operator`: one operator stays who is not disabled.
   */
  setUserDisabled(query: {
    readonly userId: string;
    readonly at: number | null;
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found' | 'last-operator'>;
  /** `last-operator`: one operator stays who is not disabled. */
  setOperator(query: {
    readonly userId: string;
    readonly isOperator: boolean;
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found' | 'last-operator'>;
  /**
   * Deletes the user with its keys, sessions, memberships and invitations, and teams without another member that own
   * nothing. The successor becomes an owner of each team that would be without one, and must be a member of it.
   * `owns-something`: queue instances or search indexes have to be moved or deleted first. Audit entries stay.
   */
  deleteUser(query: {
    readonly userId: string;
    readonly successorId: string | null;
    readonly audit?: AuditEntry;
  }): Promise<'deleted' | 'not-found' | 'owns-something' | 'last-owner' | 'last-operator'>;
  /** `email` in lower case. */
  findUserByEmail(query: { readonly email: string }): Promise<UserRecord | null>;

  createApiKey(query: { readonly apiKey: ApiKeyRecord; readonly audit?: AuditEntry }): Promise<void>;
  /** By creation, revoked ones too. */
  listApiKeys(query: { readonly userId: string }): Promise<readonly ApiKeyRecord[]>;
  /** Sessions that were begun with the key end. False when the user has no such key that is good. */
  revokeApiKey(query: {
    readonly apiKeyId: string;
    readonly userId: string;
    readonly at: number;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;

  /** Revokes all keys of the user that are good, and ends its sessions. Returns how many keys were revoked. */
  revokeApiKeys(query: { readonly userId: string; readonly at: number; readonly audit?: AuditEntry }): Promise<number>;

  /**
   * False, and nothing is kept, when the user has no such key that is good, or is disabled. Sessions that have ended by `createdAt` go, and
   * of the user's those beyond `SESSIONS_KEPT`.
   */
  createSession(query: { readonly session: SessionRecord; readonly audit?: AuditEntry }): Promise<boolean>;
  /** With the user; null when there is none. It may have expired. */
  findSession(query: {
    readonly sessionHash: string;
  }): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | null>;
  /** Nothing when there is none. A crash may take it back right after: nobody waits for the disk. */
  moveSessionEnd(query: { readonly sessionHash: string; readonly expiresAt: number }): Promise<void>;
  /** Of the user, the latest first. Some may have expired. */
  listSessions(query: { readonly userId: string }): Promise<readonly SessionRecord[]>;
  /** False when there is none. */
  deleteSession(query: { readonly sessionHash: string; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Ends all sessions of the user; returns how many there were. The entry is written if there were some. */
  deleteSessions(query: { readonly userId: string; readonly audit?: AuditEntry }): Promise<number>;

  createTeam(query: { readonly team: TeamRecord; readonly owner: MemberRecord; readonly audit?: AuditEntry }): Promise<void>;
  findTeam(query: { readonly teamId: string }): Promise<TeamRecord | null>;
  /** Teams of which the user is a member, by creation, with the role. */
  listTeams(query: { readonly userId: string }): Promise<readonly (TeamRecord & { readonly role: Role })[]>;
  /** Deletes its invitations too. `owns-something`: queue instances or search indexes have to be moved or deleted first. */
  deleteTeam(query: {
    readonly teamId: string;
    readonly audit?: AuditEntry;
  }): Promise<'deleted' | 'not-found' | 'owns-something'>;
  /** By the time they were added. */
  listMembers(query: { readonly teamId: string }): Promise<readonly MemberRecord[]>;
  /** Adds the member, or gives it another role. `last-owner`: a team keeps at least one owner. */
  putMember(query: { readonly member: MemberRecord; readonly audit?: AuditEntry }): Promise<'done' | 'last-owner'>;
  /** Deletes the invitations that the member made to the team too. */
  removeMember(query: {
    readonly teamId: string;
    readonly userId: string;
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found' | 'last-owner'>;
  /** Replaces an earlier invitation of the same e-mail to the same team. Invitations that expired by `createdAt` are deleted. */
  putInvitation(query: { readonly invitation: InvitationRecord; readonly audit?: AuditEntry }): Promise<void>;
  /** By creation, expired ones too. */
  listInvitations(query: { readonly teamId: string } | { readonly invitedBy: string }): Promise<readonly InvitationRecord[]>;
  /** It may have expired. */
  findInvitation(query: { readonly invitationId: string } | { readonly secretHash: string }): Promise<InvitationRecord | null>;
  /** False when there is none. */
  deleteInvitation(query: { readonly invitationId: string; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Deletes the invitation, creates the user if one is given, and adds the member. `not-found`: nothing was changed. */
  acceptInvitation(query: {
    readonly invitationId: string;
    readonly member: MemberRecord;
    readonly created?: { readonly user: UserRecord; readonly apiKey: ApiKeyRecord };
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found'>;
  /** Of a user in an account: `owner` of the own one; null for somebody else's. */
  roleOf(query: { readonly accountId: AccountId; readonly userId: string }): Promise<Role | null>;

  /** With its first tokens. Rejects when the id is taken, or when the account does not exist (any more). */
  createInstance(instance: QueueInstance, audit?: AuditEntry, tokens?: readonly TokenRecord[]): Promise<void>;
  findInstance(query: { readonly instanceId: string }): Promise<QueueInstance | null>;
  /** By creation. */
  listInstances(): Promise<readonly QueueInstance[]>;
  /** Of these accounts, by creation. */
  instancesOf(query: { readonly accountIds: readonly AccountId[] }): Promise<readonly QueueInstance[]>;
  /** What each instance of the account stores, by the creation of the instances. Counted in the unit that changes it. */
  totalsOf(query: { readonly accountId: AccountId }): Promise<readonly InstanceTotals[]>;
  /**
   * Null when there is none. A budget that is another one from then on (none and 0 are the same), or another owner, takes
   * the instance's alerts with it, those that are owed too.
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

  /** Replaces signing keys and key pairs if they are `from`. False: they are not, and nothing was changed. */
  replaceInstanceKeys(query: {
    readonly instanceId: string;
    readonly from: InstanceKeys;
    readonly to: InstanceKeys;
  }): Promise<boolean>;

  /**
   * Adds an origin to `workflowOrigins` unless it is there already, or `limit` is reached.
   */
  addWorkflowOrigin(query: { readonly instanceId: string; readonly origin: string; readonly limit: number }): Promise<void>;

  createToken(token: TokenRecord): Promise<void>;
  findToken(query: { readonly tokenId: string }): Promise<TokenRecord | null>;
  listTokens(query: { readonly instanceId: string }): Promise<readonly TokenRecord[]>;
  revokeToken(query: { readonly tokenId: string; readonly at: number }): Promise<void>;
  /** Revokes every good token of the instance and puts these in their place; returns the ids of those that were revoked. */
  replaceTokens(query: {
    readonly instanceId: string;
    readonly tokens: readonly TokenRecord[];
    readonly at: number;
    readonly audit?: AuditEntry;
  }): Promise<readonly string[]>;

  /** Of the instance, whoever was billed at whatever price; months newest first. Counted by `count-messages`. */
  usage(query: { readonly instanceId: string; readonly fromMonth: string }): Promise<readonly UsageRecord[]>;
  /** The same by day, oldest first, as far as it was counted by day: versions before counted by month. `fromDay`: `2026-11-21`. */
  usageOfDays(query: { readonly instanceId: string; readonly fromDay: string }): Promise<readonly DayUsageRecord[]>;
  /** Adds to what is counted of a day, in one transaction; for what comes in no unit of its own. */
  countOfDay(counts: readonly Omit<CountOfDay, 'kind'>[]): Promise<void>;
  /** Of the instance, from a day on (days since 1970), newest first. Also counted by `count-of-day`. */
  countsOfDays(query: { readonly instanceId: string; readonly fromDay: number }): Promise<readonly DayCount[]>;
  /**
   * Notes that this share of the month's budget was reached, and with it all lesser ones. True for the first caller: from
   * then on the alert is owed to the owner. The lesser ones are not owed. False, and nothing is noted, when the budget or
   * the owner is not the given one (any more). Alerts of earlier months that are not owed may go with it.
   */
  noteBudgetAlert(query: {
    readonly alert: OwedBudgetAlert;
    readonly lesser: readonly number[];
    readonly budgetDollars: number;
    readonly accountId: AccountId | null;
  }): Promise<boolean>;
  /** Alerts that are owed and due at or before `before` (Unix ms), earliest first. */
  dueBudgetAlerts(query: { readonly before: number; readonly limit: number }): Promise<readonly OwedBudgetAlert[]>;
  /** When the next alert behind `after` is due, Unix ms; null when none is. */
  nextBudgetAlertAt(query: { readonly after: number }): Promise<number | null>;
  /**
   * After an attempt to tell it, or before one: due again, or (null) not owed any more. False, and nothing happened, when it
   * is not as it was read.
   */
  moveBudgetAlert(query: {
    readonly alert: OwedBudgetAlert;
    readonly retried: number;
    readonly dueAt: number | null;
  }): Promise<boolean>;

  /** When a login of the user from this place was noted last, Unix ms; null when none is. `place` is any text. */
  loginNotedAt(query: { readonly userId: string; readonly place: string }): Promise<number | null>;
  /** The one write that a crash may take back right after: nobody waits for the disk. Bounded by `LOGIN_PLACES_KEPT`. */
  noteLogin(query: { readonly userId: string; readonly place: string; readonly at: number }): Promise<void>;

  /** Adds an entry for something that changed no record, such as a failed login. */
  addAudit(entry: AuditEntry): Promise<void>;
  /** Entries that one of these accounts may read, newest first, behind `after`. Null: all, also those of no account. */
  listAudit(query: {
    readonly accountIds: readonly AccountId[] | null;
    readonly after: string | null;
    readonly limit: number;
  }): Promise<readonly AuditEntry[]>;
}
