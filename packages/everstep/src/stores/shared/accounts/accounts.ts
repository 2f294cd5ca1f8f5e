/** Accounts: few rows, rarely changed. Each change is one durable transaction that contains its audit entry. */
import type { AccountStore } from '../../../ports/stores/account-store.js';
import type { InstanceTotals } from '../../../ports/stores/stored-bytes.js';
import { type AddAudit, listAudit } from '../audit/audit-log.js';
import type { Procedure, SqlStore } from '../sql/procedure.js';
import * as alerts from './budget-alerts.js';
import { type AccountChange, createAccountChange } from './change.js';
import * as deletedInstances from './deleted-instances.js';
import * as instances from './instances.js';
import * as logins from './logins.js';
import { createNamedTokens } from './named-tokens.js';
import { createSecrets } from './secrets.js';
import * as signIn from './sign-in.js';
import * as teams from './teams.js';
import * as users from './users.js';

/** The parts that each store implements separately: counters of commits, and work that involves other processes. */
export interface StoreSpecificAccounts
  extends Pick<AccountStore, 'runExclusively' | 'usage' | 'usageByDay' | 'countOfDay' | 'countsByDay'> {
  readonly addAudit: AddAudit;
  readonly recordInstance: instances.RecordInstance;
  /** Called in the transaction that deletes an instance. */
  recordDeletion(instanceId: string, at: number): Procedure<void>;
  totalsOf(query: { readonly accountId: string }): Promise<readonly InstanceTotals[]>;
}

export function createAccounts(store: SqlStore, specificParts: StoreSpecificAccounts): AccountStore {
  const { addAudit, recordInstance, recordDeletion, ...counts } = specificParts;
  const change = createAccountChange(store, addAudit);
  return {
    ...counts,
    ...createSecrets(store),
    ...createUsers(store, change),
    ...createLogins(store, change),
    ...createTeams(store, change),
    ...createInstances(store, change, specificParts),
    ...createNamedTokens(store, change),
    ...createAlerts(store),
    addAudit: (entry) => store.write(() => addAudit(entry)),
    listAudit: ({ accountIds, after, limit }) => store.readInTransaction(() => listAudit(accountIds, after, limit)),
  };
}

function* setUserDisabled(userId: string, at: number | null): Procedure<'done' | 'not-found' | 'last-operator'> {
  const lockedUser = yield* users.lockUser(userId);
  if (!lockedUser) return 'not-found';
  if (at !== null && lockedUser.isLastOperator) return 'last-operator';
  yield* users.setUserDisabled(userId, at);
  if (at === null) return 'done';
  yield* logins.deleteSessionsOfUser(userId);
  yield* deleteLinksOfUser(userId);
  return 'done';
}

/** Deletes the secrets with which anyone who had a key of the user could get another one: a recovery link and invitations. */
function* deleteLinksOfUser(userId: string): Procedure<void> {
  yield* signIn.deleteRecoveryLink(userId);
  yield* teams.deleteInvitationsOfInviter(userId);
}

function* setOperator(userId: string, isOperator: boolean): Procedure<'done' | 'not-found' | 'last-operator'> {
  const lockedUser = yield* users.lockUser(userId);
  if (!lockedUser) return 'not-found';
  if (!isOperator && lockedUser.isLastOperator) return 'last-operator';
  yield* users.setOperator(userId, isOperator);
  return 'done';
}

function* removeUser(
  userId: string,
  successorId: string | null,
): Procedure<'deleted' | 'not-found' | 'owns-resources' | 'last-owner' | 'last-operator'> {
  const lockedUser = yield* users.lockUser(userId);
  if (!lockedUser) return 'not-found';
  if (lockedUser.isLastOperator) return 'last-operator';
  if (yield* teams.ownsResources(userId)) return 'owns-resources';
  if ((yield* teams.leaveAllTeams(userId, successorId)) === 'last-owner') return 'last-owner';
  yield* teams.deleteInvitationsOfInviter(userId);
  yield* logins.deleteSessionsOfUser(userId);
  yield* signIn.deleteSignInOfUser(userId);
  yield* users.deleteUser(userId);
  return 'deleted';
}

function createUsers(store: SqlStore, change: AccountChange) {
  return {
    createUser: ({ user, apiKey, audit }) =>
      change(function* () {
        yield* users.createUser(user);
        yield* users.createApiKey(apiKey);
      }, audit),
    listUsers: () => store.read(users.listUsers()),
    listUsersPage: ({ after, limit }) => store.read(users.listUsersPage(after, limit)),
    findUser: ({ userId }) => store.read(users.findUser(userId)),
    findUserByEmail: ({ email }) => store.read(users.findUserByEmail(email)),
    setUserDisabled: ({ userId, at, audit }) => change(() => setUserDisabled(userId, at), audit),
    setOperator: ({ userId, isOperator, audit }) => change(() => setOperator(userId, isOperator), audit),
    deleteUser: ({ userId, successorId, audit }) => change(() => removeUser(userId, successorId), audit),
    createApiKey: ({ apiKey, audit }) => change(() => users.createApiKey(apiKey), audit),
    listApiKeys: ({ userId }) => store.read(users.listApiKeys(userId)),
    revokeApiKey: ({ apiKeyId, userId, at, audit }) =>
      change(function* () {
        const isRevoked = yield* users.revokeApiKey(apiKeyId, userId, at);
        if (!isRevoked) return false;
        yield* logins.deleteSessionsOfKey(apiKeyId);
        yield* signIn.deleteRecoveryLink(userId);
        return true;
      }, audit),
    revokeApiKeys: ({ userId, at, audit }) =>
      change(function* () {
        yield* logins.deleteSessionsOfUser(userId);
        yield* deleteLinksOfUser(userId);
        return yield* users.revokeApiKeys(userId, at);
      }, audit),
  } satisfies Partial<AccountStore>;
}

function createLogins(store: SqlStore, change: AccountChange) {
  return {
    createSession: ({ session, audit }) => change(() => logins.createSession(session), audit),
    findSession: ({ sessionHash }) => store.read(logins.findSession(sessionHash)),
    // If a crash undoes the write, the next request of the session repeats it.
    extendSession: ({ sessionHash, expiresAt }) =>
      store.write(() => logins.extendSession(sessionHash, expiresAt), { durable: false }),
    listSessions: ({ userId }) => store.read(logins.listSessions(userId)),
    deleteSession: ({ sessionHash, audit }) => change(() => logins.deleteSession(sessionHash), audit),
    deleteSessions: ({ userId, audit }) =>
      change(
        () => logins.deleteSessionsOfUser(userId),
        audit,
        (endedSessions) => endedSessions > 0,
      ),
    lastLoginAt: ({ userId, location }) => store.read(logins.lastLoginAt(userId, location)),
    // If a crash undoes the write, the next login repeats it.
    recordLogin: ({ userId, location, at }) => store.write(() => logins.recordLogin(userId, location, at), { durable: false }),
    findByIdentity: (identity) => store.read(signIn.findByIdentity(identity)),
    linkIdentity: ({ identity, userId, at, audit }) => change(() => signIn.linkIdentity(identity, userId, at), audit),
    listIdentities: ({ userId }) => store.read(signIn.listIdentities(userId)),
    unlinkIdentity: ({ identity, userId, audit }) => change(() => signIn.unlinkIdentity(identity, userId), audit),
    createUserOfIdentity: ({ identity, user, audit }) => change(() => signIn.createUserOfIdentity(identity, user), audit),
    putRecoveryLink: ({ audit, ...link }) => change(() => signIn.putRecoveryLink(link), audit),
    findRecovery: ({ secretHash, at }) => store.read(signIn.findUserOfRecoveryLink(secretHash, at)),
    useRecoveryLink: ({ secretHash, at, apiKey, audit }) => change(() => signIn.useRecoveryLink(secretHash, at, apiKey), audit),
  } satisfies Partial<AccountStore>;
}

function createTeams(store: SqlStore, change: AccountChange) {
  return {
    createTeam: ({ team, owner, audit }) => change(() => teams.createTeam(team, owner), audit),
    findTeam: ({ teamId }) => store.read(teams.findTeam(teamId)),
    listTeams: ({ userId }) => store.read(teams.listTeams(userId)),
    deleteTeam: ({ teamId, audit }) => change(() => teams.deleteTeam(teamId), audit),
    listMembers: ({ teamId }) => store.read(teams.listMembers(teamId)),
    putMember: ({ member, audit }) => change(() => teams.putMember(member), audit),
    removeMember: ({ teamId, userId, audit }) => change(() => teams.removeMember(teamId, userId), audit),
    roleOf: async ({ accountId, userId }) => {
      if (accountId !== userId) return store.read(teams.roleInTeam(accountId, userId));
      return (await store.read(users.findUser(userId))) ? 'owner' : null;
    },
    putInvitation: ({ invitation, audit }) => change(() => teams.putInvitation(invitation), audit),
    listInvitations: (query) => store.read(teams.listInvitations(query)),
    findInvitation: (query) => store.read(teams.findInvitation(query)),
    deleteInvitation: ({ invitationId, audit }) => change(() => teams.deleteInvitation(invitationId), audit),
    acceptInvitation: ({ invitationId, member, created, audit }) =>
      change(function* () {
        if (!(yield* teams.deleteInvitation(invitationId))) return 'not-found';
        if (created) {
          yield* users.createUser(created.user);
          yield* users.createApiKey(created.apiKey);
        }
        yield* teams.putMember(member);
        return 'done';
      }, audit),
  } satisfies Partial<AccountStore>;
}

function createInstances(store: SqlStore, change: AccountChange, { recordInstance, recordDeletion }: StoreSpecificAccounts) {
  return {
    createInstance: (instance, audit, tokens = []) =>
      change(() => instances.createInstance(instance, tokens, recordInstance), audit),
    findInstance: ({ instanceId }) => store.read(instances.findInstance(instanceId)),
    listInstances: () => store.read(instances.listInstances()),
    instancesOf: ({ accountIds }) => store.read(instances.instancesOf(accountIds)),
    changeInstance: ({ instanceId, change: instanceChange, audit }) =>
      change(() => instances.changeInstance(instanceId, instanceChange, recordInstance), audit),
    deleteInstance: ({ instanceId, at, audit }) =>
      change(function* () {
        const isDeleted = yield* deletedInstances.deleteInstance(instanceId, at);
        if (isDeleted) yield* recordDeletion(instanceId, at);
        return isDeleted;
      }, audit),
    listDeletedInstances: () => store.read(deletedInstances.listDeletedInstances()),
    markEmptied: ({ instanceId, at }) => store.write(() => deletedInstances.markEmptied(instanceId, at)),
    removeDeletedInstance: ({ instanceId }) => store.write(() => deletedInstances.removeDeletedInstance(instanceId)),
    setSigningKeys: ({ instanceId, current, next, audit }) =>
      change(() => instances.setSigningKeys(instanceId, current, next), audit),
    replaceInstanceKeys: ({ instanceId, from, to }) => store.write(() => instances.replaceKeys(instanceId, from, to)),
    addWorkflowOrigin: ({ instanceId, origin, limit }) =>
      store.write(() => instances.addWorkflowOrigin(instanceId, origin, limit)),
    createToken: (token) => store.write(() => instances.createToken(token)),
    findToken: ({ tokenId }) => store.read(instances.findToken(tokenId)),
    listTokens: ({ instanceId }) => store.read(instances.listTokens(instanceId)),
    revokeToken: ({ tokenId, at }) => store.write(() => instances.revokeToken(tokenId, at)),
    replaceTokens: ({ instanceId, tokens, at, audit }) => change(() => instances.replaceTokens(instanceId, tokens, at), audit),
  } satisfies Partial<AccountStore>;
}

function createAlerts(store: SqlStore) {
  return {
    createBudgetAlert: async ({ alert, lowerPercents, ...budget }) =>
      !(await store.read(alerts.isAlertRecorded(alert))) && store.write(() => alerts.createAlert(alert, lowerPercents, budget)),
    // The server sends these alerts, so they must be durable.
    dueBudgetAlerts: ({ before, limit }) => store.readDurable(alerts.dueAlerts(before, limit)),
    nextBudgetAlertAt: ({ after }) => store.read(alerts.nextAlertAt(after)),
    rescheduleBudgetAlert: ({ alert, retried, dueAt }) => store.write(() => alerts.rescheduleAlert(alert, retried, dueAt)),
  } satisfies Partial<AccountStore>;
}
