/**
 * The account operations of the management API: the interface between its HTTP layer and the rules. Inputs are
 * already validated. Rights are checked behind this interface, for every caller. An id that does not exist and one
 * that the caller may not see have the same outcome: `not-found`.
 */

import type {
  ApiKeyRecord,
  AuditEntry,
  InvitationRecord,
  MemberRecord,
  OutboundRules,
  QueueInstance,
  Role,
  TeamRecord,
  TokenRecord,
  UserRecord,
} from '../ports/stores/account-store.js';
import type { DeletedInstance } from '../ports/stores/accounts/deleted-instances.js';
import type { NamedToken, TokenScope } from '../ports/stores/accounts/named-tokens.js';
import type { LinkedIdentity } from '../ports/stores/accounts/sign-in.js';
import type { Listing, Position } from '../ports/stores/page.js';

import type { RefusalKind } from './plans/refusals.js';
import type { Principal, Session, StartedSession } from './principal.js';
import type { IdentityRules } from './sign-in/identity-rules.js';

export type { Principal, Session, StartedSession } from './principal.js';

/** A session as shown to its user. */
export interface OwnSession {
  readonly sessionId: string;
  /** Null if the session was started with an identity provider. */
  readonly apiKeyId: string | null;
  /** Creation time in Unix milliseconds. */
  readonly createdAt: number;
  /** Unix ms. Use of the session extends it. */
  readonly expiresAt: number;
}

/** Result of an operation, or the reason why it failed. `message` is for the caller. */
export type Outcome<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'not-found'; readonly message: string }
  /** The caller can see the resource, but its role does not allow the operation. */
  | { readonly kind: 'forbidden'; readonly message: string }
  | { readonly kind: 'invalid'; readonly message: string }
  /** The credential of the caller became invalid while the change waited for the lock: an API key, or a session. */
  | { readonly kind: 'bad-credential'; readonly message: string }
  | { readonly kind: 'session-ended'; readonly message: string }
  | { readonly kind: 'conflict'; readonly message: string };

export type Login =
  | { readonly kind: 'in'; readonly principal: Principal; readonly apiKeyId: string }
  | { readonly kind: 'refused' }
  /** Too many failed logins for this account or from this address. */
  | { readonly kind: 'wait'; readonly retryAfterMs: number };

export type SessionLogin = ({ readonly kind: 'in' } & StartedSession) | Exclude<Login, { readonly kind: 'in' }>;

/** Result of adding a member to a team. */
export type PutMemberResult =
  | { readonly kind: 'member'; readonly member: MemberRecord }
  /** The invitation is pending. The secret is for the invited person and is shown only once. */
  | { readonly kind: 'invited'; readonly invitation: InvitationRecord; readonly secret: string };

/** The team, and the user who joined it by accepting an invitation. */
export interface AcceptedInvitation {
  readonly member: MemberRecord;
  readonly team: TeamRecord;
}

/** Access of a user to the runs of an instance. */
export interface InstanceAccess {
  readonly instance: QueueInstance;
  readonly access: TokenRecord['access'];
}

/** A token of an instance, without the secret. Times are in Unix ms. */
export interface TokenView extends Omit<NamedToken, 'tokenHash' | 'createdBy'> {
  /** True for the tokens created with the instance, which are JWTs. */
  readonly isPermanent: boolean;
  /** Email of the user who created the token; null for permanent tokens. */
  readonly createdBy: string | null;
}

/** A token that was just created. `token` is shown only once and cannot be read again. */
export interface NewToken {
  readonly token: string;
  readonly view: TokenView;
}

/** A named set of limits. If a limit is null, only the limit of the server applies. */
export interface Plan {
  readonly name: string;
  readonly maxMessageBytes: number | null;
  readonly logRetentionMs: number | null;
  readonly deadLetterRetentionMs: number | null;
  readonly maxParallelism: number | null;
  readonly maxSchedules: number | null;
  readonly maxRequestsPerDay: number | null;
  readonly apiCallsPerSecond: number | null;
  /** Maximum duration of one delivery, ms. */
  readonly maxTimeoutMs: number | null;
  readonly maxQueues: number | null;
  readonly maxUrlGroups: number | null;
  readonly maxFlowControlKeys: number | null;
  /** This limit and the following ones apply to the whole account: the largest value among the plans of its instances. */
  readonly maxStoredBytes: number | null;
  readonly maxActiveRuns: number | null;
  readonly maxInstances: number | null;
  readonly maxSearchIndexes: number | null;
  /** Maximum number of teams that a user creates and owns. */
  readonly maxTeams: number | null;
  /** Maximum number of members of one team. */
  readonly maxTeamMembers: number | null;
  /** Price in dollars per 100,000 messages. */
  readonly pricePer100kMessages: number;
}

/** An instance as its members see it. Tokens are included only for roles that may use them. */
export interface InstanceView {
  readonly instance: QueueInstance;
  readonly role: Role;
  readonly plan: Plan;
  /** Runs started today (UTC), limited by `maxRequestsPerDay`. */
  readonly requestsToday: number;
  readonly token?: string;
  readonly readOnlyToken?: string;
}

/** An instance that is being deleted. */
export interface DeletedInstanceView {
  readonly deleted: DeletedInstance;
  readonly role: Role;
  readonly plan: Plan;
}

export interface UsagePoint {
  /** UTC month, such as `2026-11`. */
  readonly month: string;
  readonly messages: number;
  readonly dollars: number;
}

export interface InstanceStats {
  readonly months: readonly UsagePoint[];
  readonly budgetDollars: number;
  readonly spentDollars: number;
  readonly storage: StorageUsage;
  /** Messages about work that is currently rejected; empty if nothing is. */
  readonly refused: readonly string[];
  readonly requestsToday: number;
  /** Refusals on the UTC days within the period, by kind. */
  readonly refusals: readonly RefusalCount[];
}

/** Stored bytes and active runs, with the limits of the account. If a limit is null, there is none. */
export interface StorageUsage {
  readonly instanceBytes: number;
  /** Includes the search indexes of the account. */
  readonly accountBytes: number;
  readonly maxBytes: number | null;
  /** Active runs of the account. */
  readonly activeRuns: number;
  readonly maxActiveRuns: number | null;
}

export interface DayPoint {
  /** UTC day, such as `2026-11-21`. */
  readonly day: string;
  readonly messages: number;
  readonly dollars: number;
}

export interface DailyUsage {
  /** Oldest first; today is last. */
  readonly days: readonly DayPoint[];
  readonly budgetDollars: number;
  /** Spending in the current month. */
  readonly spentDollars: number;
}

export interface RefusalCount {
  readonly kind: RefusalKind;
  readonly count: number;
  /** Time of the last rejection in Unix milliseconds. */
  readonly lastAt: number;
}

export interface AccountService extends IdentityRules {
  /** Checks an API key, in constant time. Failures are counted by account and by address. */
  logIn(credential: { readonly email: string; readonly apiKey: string; readonly address: string }): Promise<Login>;

  /** Returns the time that every login from the address must wait, whatever the credentials; 0 for no wait. */
  loginWaitMs(client: { readonly address: string }): number;

  /** Logs in and starts a session. If `isHttps` is true, the secret is valid only in the cookie for https. */
  beginSession(credential: {
    readonly email: string;
    readonly apiKey: string;
    readonly address: string;
    readonly isHttps?: boolean;
  }): Promise<SessionLogin>;
  /** Returns null if no valid session has this secret. Finding a session extends it. */
  findSession(query: { readonly secret: string; readonly address: string }): Promise<Session | null>;
  endSession(session: Session): Promise<void>;
  /** Lists sessions that have not ended, latest first. */
  listSessions(principal: Principal): Promise<readonly OwnSession[]>;
  /** Ends one of the user's sessions, which may be the current one. */
  endOwnSession(principal: Principal, sessionId: string): Promise<Outcome<null>>;
  /** Ends all sessions of the user, including the current one, and returns their number. */
  endSessions(principal: Principal): Promise<number>;
  /** Returns whether the user is an operator of the installation. The first user is an operator by default. */
  isOperator(principal: Principal): Promise<boolean>;

  /** Lists users, oldest first. Requires an operator. */
  listUsers(
    principal: Principal,
    query: { readonly after: Position | null; readonly limit: number },
  ): Promise<Outcome<Listing<UserRecord>>>;
  /** Disables or enables a user. A disabled user cannot log in, and its sessions end. Requires an operator. */
  setUserDisabled(principal: Principal, request: { readonly userId: string; readonly disabled: boolean }): Promise<Outcome<null>>;
  /** Deletes a user. Requires an operator, or that user. */
  deleteUser(
    principal: Principal,
    request: { readonly userId: string; readonly successorId: string | null },
  ): Promise<Outcome<null>>;
  /** Grants or revokes the operator role. Requires an operator. */
  setOperator(principal: Principal, request: { readonly userId: string; readonly isOperator: boolean }): Promise<Outcome<null>>;
  /** Lists the API keys of a user. Requires an operator, or that user. */
  listApiKeysOf(principal: Principal, userId: string): Promise<Outcome<readonly ApiKeyRecord[]>>;
  /** Revokes an API key of a user, even the last valid one. Requires an operator. */
  revokeApiKeyOf(principal: Principal, key: { readonly userId: string; readonly apiKeyId: string }): Promise<Outcome<null>>;
  /** Revokes all API keys of a user and ends the sessions. Requires an operator. */
  revokeApiKeysOf(principal: Principal, userId: string): Promise<Outcome<null>>;
  /** Ends all sessions of a user. Requires an operator, or that user. */
  endSessionsOf(principal: Principal, userId: string): Promise<Outcome<null>>;
  /** Lists the identities with which a user can sign in. Requires an operator, or that user. */
  identitiesOf(
    principal: Principal,
    userId: string,
  ): Promise<Outcome<readonly (LinkedIdentity & { readonly identityId: string })[]>>;
  /**
   * Unlinks an identity of a user, and ends the sessions that were started with an identity provider. Requires an operator, or that
   * user, who must be able to sign in without it.
   */
  unlinkIdentityOf(
    principal: Principal,
    identity: { readonly userId: string; readonly identityId: string },
  ): Promise<Outcome<null>>;
  /** Returns read-write access for roles that may use the instance, and read-only access for roles that only see it. */
  accessTo(principal: Principal, instanceId: string): Promise<Outcome<InstanceAccess>>;
  /** Returns the emails of the users who can log in and see the instance, sorted. */
  usersOf(instanceId: string): Promise<readonly string[]>;

  /** Returns a secret that gives the user one API key. The secret is shown only once. Requires an operator. */
  createRecoveryLink(
    principal: Principal,
    userId: string,
  ): Promise<Outcome<{ readonly secret: string; readonly expiresAt: number }>>;
  /** Creates an API key for the user of a recovery link. Requires no login. The key is shown only once. */
  recover(link: {
    readonly secret: string;
    readonly address: string;
  }): Promise<Outcome<{ readonly email: string; readonly apiKey: string; readonly record: ApiKeyRecord }>>;

  listApiKeys(principal: Principal): Promise<readonly ApiKeyRecord[]>;
  /** Creates an API key, which is shown only once. */
  createApiKey(principal: Principal, name: string): Promise<Outcome<{ readonly apiKey: string; readonly record: ApiKeyRecord }>>;
  revokeApiKey(principal: Principal, apiKeyId: string): Promise<Outcome<null>>;

  listTeams(principal: Principal): Promise<readonly (TeamRecord & { readonly role: Role })[]>;
  createTeam(principal: Principal, name: string): Promise<Outcome<TeamRecord>>;
  deleteTeam(principal: Principal, teamId: string): Promise<Outcome<null>>;
  listMembers(principal: Principal, teamId: string): Promise<Outcome<readonly MemberRecord[]>>;
  /** Changes the role of a member. Any other email is invited; the result does not show whether a user has the email. */
  putMember(
    principal: Principal,
    member: { readonly teamId: string; readonly email: string; readonly role: Role },
  ): Promise<Outcome<PutMemberResult>>;
  /** Lists pending invitations. */
  listInvitations(principal: Principal, teamId: string): Promise<Outcome<readonly InvitationRecord[]>>;
  revokeInvitation(principal: Principal, invitationId: string): Promise<Outcome<null>>;
  /**
   * Creates the invited user and returns its first API key, which is shown only once. The outcome is `conflict` if a
   * user already has the email; that user must call `joinTeam`.
   */
  acceptInvitation(invitee: {
    readonly secret: string;
    readonly address: string;
  }): Promise<Outcome<AcceptedInvitation & { readonly apiKey: string }>>;
  /** Accepts an invitation. Requires a user with the invited email, and the secret, because the email alone is not trusted. */
  joinTeam(principal: Principal, secret: string): Promise<Outcome<AcceptedInvitation>>;
  declineInvitation(invitee: { readonly secret: string; readonly address: string }): Promise<Outcome<null>>;
  removeMember(principal: Principal, member: { readonly teamId: string; readonly email: string }): Promise<Outcome<null>>;

  listInstances(principal: Principal): Promise<readonly InstanceView[]>;
  findInstance(principal: Principal, instanceId: string): Promise<Outcome<InstanceView>>;
  createInstance(
    principal: Principal,
    request: { readonly name: string; readonly region: string; readonly teamId?: string },
  ): Promise<Outcome<InstanceView>>;
  /**
   * Deletes an instance. Requires a role that may transfer it, or an operator. After the promise resolves, the instance is
   * not found, its tokens are rejected, and nothing is delivered for it. Its rows are removed in the background.
   * `confirm` must be the name of the instance.
   */
  deleteInstance(
    principal: Principal,
    request: { readonly instanceId: string; readonly confirm: string },
  ): Promise<Outcome<null>>;
  /** Lists instances whose rows are still being removed, with the user's role in the former owner's account. */
  listDeletedInstances(principal: Principal): Promise<readonly DeletedInstanceView[]>;
  /** Replaces the permanent tokens of an instance. After the promise resolves, the old tokens are rejected. */
  rotateTokens(principal: Principal, instanceId: string): Promise<Outcome<InstanceView>>;
  /** Lists the tokens of an instance, including recently revoked and expired ones. */
  listTokens(principal: Principal, instanceId: string): Promise<Outcome<readonly TokenView[]>>;
  createToken(
    principal: Principal,
    request: {
      readonly instanceId: string;
      readonly name: string;
      readonly scopes: readonly TokenScope[];
      /** Null if the token does not expire. */
      readonly lifetimeMs: number | null;
    },
  ): Promise<Outcome<NewToken>>;
  /** Replaces a named token. The old token stays valid for `overlapMs`, but not beyond its own expiry. */
  rotateToken(
    principal: Principal,
    token: { readonly instanceId: string; readonly tokenId: string; readonly overlapMs: number },
  ): Promise<Outcome<NewToken>>;
  /** Revokes a token. After the promise resolves, the token is rejected. */
  revokeToken(principal: Principal, token: { readonly instanceId: string; readonly tokenId: string }): Promise<Outcome<null>>;
  /** Moves an instance. Requires permissions in both accounts. A personal account as target is `invalid`. */
  moveToTeam(principal: Principal, move: { readonly instanceId: string; readonly teamId: string }): Promise<Outcome<null>>;
  setBudget(principal: Principal, budget: { readonly instanceId: string; readonly dollars: number }): Promise<Outcome<null>>;
  setBudgetAlert(
    principal: Principal,
    alert: { readonly instanceId: string; readonly url: string | null },
  ): Promise<Outcome<null>>;
  /** Returns the outbound rules of an instance. The user must be a member of the account, or an operator. */
  outboundRules(principal: Principal, instanceId: string): Promise<Outcome<OutboundRules>>;
  /** Restricts the destinations of an instance. Requires a role that may change the instance. */
  setOutboundRules(
    principal: Principal,
    rules: { readonly instanceId: string } & Pick<OutboundRules, 'deny' | 'only'>,
  ): Promise<Outcome<null>>;
  /** Allows private destinations for an instance. Requires an operator. */
  setAllowedDestinations(
    principal: Principal,
    rules: { readonly instanceId: string } & Pick<OutboundRules, 'allow'>,
  ): Promise<Outcome<null>>;
  setPlan(principal: Principal, choice: { readonly instanceId: string; readonly plan: string }): Promise<Outcome<null>>;
  /** Returns the usage by month, from `periodMs` ago until now, and the refusals in that period. */
  stats(principal: Principal, query: { readonly instanceId: string; readonly periodMs: number }): Promise<Outcome<InstanceStats>>;
  /** Returns the usage by UTC day, including today. */
  usage(principal: Principal, query: { readonly instanceId: string; readonly days: number }): Promise<Outcome<DailyUsage>>;
  plans(): readonly Plan[];

  auditLog(
    principal: Principal,
    query: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly AuditEntry[]>;
  /** Lists the accounts that the user can see, with the role in each. The user's own account comes first. */
  accountsOf(principal: Principal): Promise<readonly { readonly accountId: string; readonly role: Role }[]>;
}

/** What a role allows in an account. */
export type Permission = 'see' | 'use' | 'change' | 'pay' | 'manage-members' | 'transfer';

export const PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = Object.freeze({
  owner: ['see', 'use', 'change', 'pay', 'manage-members', 'transfer'],
  admin: ['see', 'use', 'change', 'pay', 'manage-members', 'transfer'],
  dev: ['see', 'use', 'change'],
  finance: ['see', 'pay'],
});
