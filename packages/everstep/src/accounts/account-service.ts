/**
 * What the management API can be asked to do with accounts: the interface
 * between its HTTP side and the rules behind it. Inputs are validated shapes;
 * rights are checked here, once for every way in. An id that does not exist
 * and one that the caller may not see are the same outcome: `not-found`.
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
} from '../ports/account-store.js';
import type { DeletedInstance } from '../ports/deleted-instances.js';
import type { NamedToken, TokenScope } from '../ports/named-tokens.js';

import type { RefusalKind } from './refusals.js';
import type { IdentityRules } from './sign-in/identity-sign-in.js';

/** Who asks, and from where. */
export interface Principal {
  readonly user: UserRecord;
  /** Address of the client, for the audit log. */
  readonly address: string;
  /** Of the session with which the user asks; absent for one who sent an API key. */
  readonly sessionId?: string;
  /** The API key that was sent; absent for one who asks with a session. */
  readonly apiKeyId?: string;
}

/** A session of the user, for the user. */
export interface OwnSession {
  readonly sessionId: string;
  /** Null: it began with an identity provider. */
  readonly apiKeyId: string | null;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms, unless it is used before. */
  readonly expiresAt: number;
}

/** What was asked for, or why not. `message` is for the one who asked. */
export type Outcome<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'not-found'; readonly message: string }
  /** The caller sees it, but its role does not allow this. */
  | { readonly kind: 'forbidden'; readonly message: string }
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'conflict'; readonly message: string };

export type Login =
  | { readonly kind: 'in'; readonly principal: Principal; readonly apiKeyId: string }
  | { readonly kind: 'refused' }
  /** Too many failures of this account or from this address. */
  | { readonly kind: 'wait'; readonly retryAfterMs: number };

/** Of a user who has logged in before, and is recognised by a secret. */
export interface Session {
  readonly principal: Principal & { readonly sessionId: string };
  readonly sessionHash: string;
  /** Null: it began with an identity provider. */
  readonly apiKeyId: string | null;
  /** Has to come with every request that changes something. */
  readonly csrfToken: string;
  /** Unix ms, unless it is used before. */
  readonly expiresAt: number;
}

export interface BegunSession {
  /** Known to the user's browser and to nobody else. */
  readonly secret: string;
  readonly session: Session;
}

export type SessionLogin = ({ readonly kind: 'in' } & BegunSession) | Exclude<Login, { readonly kind: 'in' }>;

/** What adding a member to a team leads to. */
export type PutMember =
  | { readonly kind: 'member'; readonly member: MemberRecord }
  /** Pending. The secret is for the invited person, and is shown this once. */
  | { readonly kind: 'invited'; readonly invitation: InvitationRecord; readonly secret: string };

/** Somebody who accepted an invitation. */
export interface Joined {
  readonly member: MemberRecord;
  readonly team: TeamRecord;
}

/** What a user may do with what runs in an instance. */
export interface InstanceAccess {
  readonly instance: QueueInstance;
  readonly access: TokenRecord['access'];
}

/** A token of an instance, without the token itself. Times are Unix ms. */
export interface TokenView extends Omit<NamedToken, 'tokenHash' | 'createdBy'> {
  /** One of the tokens that the instance was created with: a JWT. */
  readonly isPermanent: boolean;
  /** Null for permanent tokens. */
  readonly createdBy: string | null;
}

/** `token` is known to nobody else, and cannot be read again. */
export interface NewToken {
  readonly token: string;
  readonly view: TokenView;
}

/** A named set of limits. Null: none but those of the service. */
export interface Plan {
  readonly name: string;
  readonly maxMessageBytes: number | null;
  readonly logRetentionMs: number | null;
  readonly deadLetterRetentionMs: number | null;
  readonly maxParallelism: number | null;
  readonly maxSchedules: number | null;
  readonly maxRequestsPerDay: number | null;
  readonly apiCallsPerSecond: number | null;
  /** The longest that one delivery may take, ms. */
  readonly maxTimeoutMs: number | null;
  readonly maxQueues: number | null;
  readonly maxUrlGroups: number | null;
  readonly maxFlowControlKeys: number | null;
  /** This and what follows are of the whole account; the largest one of its instances counts. */
  readonly maxStoredBytes: number | null;
  readonly maxActiveRuns: number | null;
  readonly maxInstances: number | null;
  readonly maxSearchIndexes: number | null;
  /** That a user creates and owns. */
  readonly maxTeams: number | null;
  /** Of one team, with pending invitations. */
  readonly maxTeamMembers: number | null;
  /** Dollars for 100,000 messages. */
  readonly pricePer100kMessages: number;
}

/** An instance with what its owner may see. Tokens only for roles that may use them. */
export interface InstanceView {
  readonly instance: QueueInstance;
  readonly role: Role;
  readonly plan: Plan;
  /** Runs that were started today (UTC): what `maxRequestsPerDay` bounds. */
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
  readonly storage: StorageStanding;
  /** What is refused now, in words; empty when nothing is. */
  readonly refused: readonly string[];
  readonly requestsToday: number;
  /** What was refused on the days (UTC) that the period touches, by kind. */
  readonly refusals: readonly RefusalCount[];
}

/** Bytes that are stored, and active runs, with what the account may have of both. Null: no limit. */
export interface StorageStanding {
  readonly instanceBytes: number;
  /** With its search indexes. */
  readonly accountBytes: number;
  readonly maxBytes: number | null;
  /** Of the account. */
  readonly activeRuns: number;
  readonly maxActiveRuns: number | null;
}

export interface DayPoint {
  /** UTC, such as `2026-11-21`. */
  readonly day: string;
  readonly messages: number;
  readonly dollars: number;
}

export interface DailyUsage {
  /** Oldest first, today last. */
  readonly days: readonly DayPoint[];
  readonly budgetDollars: number;
  /** In this month. */
  readonly spentDollars: number;
}

export interface RefusalCount {
  readonly kind: RefusalKind;
  readonly count: number;
  /** Unix ms. */
  readonly lastAt: number;
}

export interface AccountService extends IdentityRules {
  /** Constant-time over whatever is kept; failures are counted per account and address. */
  logIn(credential: { readonly email: string; readonly apiKey: string; readonly address: string }): Promise<Login>;

  /** How long logins from the address have to wait, whatever their credentials; 0: they are looked at. */
  loginWaitMs(from: { readonly address: string }): number;

  /** Logs in, and remembers it. It counts as a login in every way. `isHttps`: the secret is good in the cookie of https alone. */
  beginSession(credential: {
    readonly email: string;
    readonly apiKey: string;
    readonly address: string;
    readonly isHttps?: boolean;
  }): Promise<SessionLogin>;
  /** Null when there is none of this secret, or not any more. Its end moves on when it is found. */
  findSession(query: { readonly secret: string; readonly address: string }): Promise<Session | null>;
  endSession(session: Session): Promise<void>;
  /** Those that have not ended, the latest first. */
  listSessions(principal: Principal): Promise<readonly OwnSession[]>;
  /** Ends another session of the user, or the one that asks. */
  endOwnSession(principal: Principal, sessionId: string): Promise<Outcome<null>>;
  /** Ends all sessions of the user, with the one that asks; gives how many. */
  endSessions(principal: Principal): Promise<number>;
  /** One of the operators of the installation. The first user is one from the start. */
  isOperator(principal: Principal): Promise<boolean>;

  /** For operators, by creation. */
  listUsers(
    principal: Principal,
    query: { readonly after: string | null; readonly limit: number },
  ): Promise<Outcome<readonly UserRecord[]>>;
  /** For operators. A user who is disabled cannot log in, and its sessions end. */
  setUserDisabled(principal: Principal, wish: { readonly userId: string; readonly disabled: boolean }): Promise<Outcome<null>>;
  /** For operators, and for the user itself. */
  deleteUser(
    principal: Principal,
    wish: { readonly userId: string; readonly successorId: string | null },
  ): Promise<Outcome<null>>;
  /** For operators. */
  setOperator(principal: Principal, wish: { readonly userId: string; readonly isOperator: boolean }): Promise<Outcome<null>>;
  /** For operators, and for the user itself. */
  listApiKeysOf(principal: Principal, userId: string): Promise<Outcome<readonly ApiKeyRecord[]>>;
  /** For operators: of any user, the last good key too. */
  revokeApiKeyOf(principal: Principal, key: { readonly userId: string; readonly apiKeyId: string }): Promise<Outcome<null>>;
  /** For operators. Ends the sessions too. */
  revokeApiKeysOf(principal: Principal, userId: string): Promise<Outcome<null>>;
  /** For operators, and for the user itself. */
  endSessionsOf(principal: Principal, userId: string): Promise<Outcome<null>>;
  /** Read-write for roles that may use the instance, read-only for those that see it. */
  accessTo(principal: Principal, instanceId: string): Promise<Outcome<InstanceAccess>>;

  /** For operators: a secret that gives the user one API key. It is shown this once. */
  createRecoveryLink(
    principal: Principal,
    userId: string,
  ): Promise<Outcome<{ readonly secret: string; readonly expiresAt: number }>>;
  /** Without a login. The key comes back this once. */
  recover(link: {
    readonly secret: string;
    readonly address: string;
  }): Promise<Outcome<{ readonly email: string; readonly apiKey: string; readonly record: ApiKeyRecord }>>;

  listApiKeys(principal: Principal): Promise<readonly ApiKeyRecord[]>;
  /** The key itself comes back this once. */
  createApiKey(principal: Principal, name: string): Promise<Outcome<{ readonly apiKey: string; readonly record: ApiKeyRecord }>>;
  revokeApiKey(principal: Principal, apiKeyId: string): Promise<Outcome<null>>;

  listTeams(principal: Principal): Promise<readonly (TeamRecord & { readonly role: Role })[]>;
  createTeam(principal: Principal, name: string): Promise<Outcome<TeamRecord>>;
  deleteTeam(principal: Principal, teamId: string): Promise<Outcome<null>>;
  listMembers(principal: Principal, teamId: string): Promise<Outcome<readonly MemberRecord[]>>;
  /** Gives a member another role. Any other e-mail is invited, whether a user has it or not: the answer is the same. */
  putMember(
    principal: Principal,
    member: { readonly teamId: string; readonly email: string; readonly role: Role },
  ): Promise<Outcome<PutMember>>;
  /** Pending ones. */
  listInvitations(principal: Principal, teamId: string): Promise<Outcome<readonly InvitationRecord[]>>;
  revokeInvitation(principal: Principal, invitationId: string): Promise<Outcome<null>>;
  /** Creates the user, whose first API key comes back this once. `conflict`: a user has the e-mail and has to `joinTeam`. */
  acceptInvitation(invited: {
    readonly secret: string;
    readonly address: string;
  }): Promise<Outcome<Joined & { readonly apiKey: string }>>;
  /** For a user with the e-mail that was invited. It takes the secret too, so the e-mail alone is not trusted. */
  joinTeam(principal: Principal, secret: string): Promise<Outcome<Joined>>;
  declineInvitation(invited: { readonly secret: string; readonly address: string }): Promise<Outcome<null>>;
  removeMember(principal: Principal, member: { readonly teamId: string; readonly email: string }): Promise<Outcome<null>>;

  listInstances(principal: Principal): Promise<readonly InstanceView[]>;
  findInstance(principal: Principal, instanceId: string): Promise<Outcome<InstanceView>>;
  createInstance(
    principal: Principal,
    wish: { readonly name: string; readonly region: string; readonly teamId?: string },
  ): Promise<Outcome<InstanceView>>;
  /**
   * For who may give it away, and for operators. From the moment it resolves the instance is not found, its tokens are refused
   * and nothing of it is delivered; its rows are removed in the background. `confirm`: its name.
   */
  deleteInstance(principal: Principal, wish: { readonly instanceId: string; readonly confirm: string }): Promise<Outcome<null>>;
  /** Those whose rows are still being removed, with the role of the user in the account that owned each. */
  listDeletedInstances(principal: Principal): Promise<readonly DeletedInstanceView[]>;
  /** From the moment it resolves the old tokens are refused. */
  rotateTokens(principal: Principal, instanceId: string): Promise<Outcome<InstanceView>>;
  /** Revoked and expired ones too, for a while. */
  listTokens(principal: Principal, instanceId: string): Promise<Outcome<readonly TokenView[]>>;
  createToken(
    principal: Principal,
    wish: {
      readonly instanceId: string;
      readonly name: string;
      readonly scopes: readonly TokenScope[];
      /** Null: it does not expire. */
      readonly lifetimeMs: number | null;
    },
  ): Promise<Outcome<NewToken>>;
  /** The old token stays valid for `overlapMs`, at most until its own end. */
  rotateToken(
    principal: Principal,
    which: { readonly instanceId: string; readonly tokenId: string; readonly overlapMs: number },
  ): Promise<Outcome<NewToken>>;
  /** From the moment it resolves the token is rejected. */
  revokeToken(principal: Principal, which: { readonly instanceId: string; readonly tokenId: string }): Promise<Outcome<null>>;
  /** Needs rights on both sides; to a personal account is invalid. */
  moveToTeam(principal: Principal, move: { readonly instanceId: string; readonly teamId: string }): Promise<Outcome<null>>;
  setBudget(principal: Principal, budget: { readonly instanceId: string; readonly dollars: number }): Promise<Outcome<null>>;
  setBudgetAlert(
    principal: Principal,
    alert: { readonly instanceId: string; readonly url: string | null },
  ): Promise<Outcome<null>>;
  /** For members of its account, and for the operator. */
  outboundRules(principal: Principal, instanceId: string): Promise<Outcome<OutboundRules>>;
  /** What the owner narrows. */
  setOutboundRules(
    principal: Principal,
    rules: { readonly instanceId: string } & Pick<OutboundRules, 'deny' | 'only'>,
  ): Promise<Outcome<null>>;
  /** What the operator opens. */
  setAllowedDestinations(
    principal: Principal,
    rules: { readonly instanceId: string } & Pick<OutboundRules, 'allow'>,
  ): Promise<Outcome<null>>;
  setPlan(principal: Principal, choice: { readonly instanceId: string; readonly plan: string }): Promise<Outcome<null>>;
  /** The months that the time from `periodMs` ago until now touches. */
  stats(principal: Principal, query: { readonly instanceId: string; readonly periodMs: number }): Promise<Outcome<InstanceStats>>;
  /** By day (UTC), today included. */
  usage(principal: Principal, query: { readonly instanceId: string; readonly days: number }): Promise<Outcome<DailyUsage>>;
  plans(): readonly Plan[];

  auditLog(
    principal: Principal,
    query: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly AuditEntry[]>;
  /** Accounts that the user may see, with the role in each: the own one first. */
  accountsOf(principal: Principal): Promise<readonly { readonly accountId: string; readonly role: Role }[]>;
}

/** What each role may do in an account. */
export type Right = 'see' | 'use' | 'change' | 'pay' | 'manage-members' | 'give-away';

export const RIGHTS: Readonly<Record<Role, readonly Right[]>> = Object.freeze({
  owner: ['see', 'use', 'change', 'pay', 'manage-members', 'give-away'],
  admin: ['see', 'use', 'change', 'pay', 'manage-members', 'give-away'],
  dev: ['see', 'use', 'change'],
  finance: ['see', 'pay'],
});
