/** Accounts: few rows, rarely changed; each method is one durable transaction, with the entry of the audit log in it. */
import type { AccountStore } from '../../../ports/stores/account-store.js';
import { addAudit, listAudit } from '../audit/audit-log.js';
import { ExclusiveWork } from '../cluster/exclusive-work.js';
import { text } from '../connection/columns.js';
import { type Database, statement } from '../connection/connection.js';
import * as deleted from '../instance-removal/deleted-instances.js';
import * as signIn from '../sign-in/records.js';
import { totalsOf } from '../storage/stored-bytes.js';
import { createAccountChange } from './account-change.js';
import * as instances from './account-instances.js';
import * as invitations from './account-invitations.js';
import * as teams from './account-teams.js';
import * as users from './account-users.js';
import * as alerts from './budget-alerts.js';
import { countDays, listDayCounts, OldDays } from './day-counts.js';
import { lastLoginAt, noteLogin } from './login-places.js';
import * as sessions from './login-sessions.js';
import * as namedTokens from './named-tokens.js';
import { listDayUsage, listUsage } from './usage-counts.js';

const INSERT_SECRET = statement('INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING');
const SELECT_SECRET = statement('SELECT value FROM secret WHERE name = $1');
const SELECT_SECRETS = statement('SELECT name, value FROM secret ORDER BY name COLLATE "C"');
const UPDATE_SECRET = statement('UPDATE secret SET value = $2 WHERE name = $1 AND value = $3');
const DELETE_SECRET = statement('DELETE FROM secret WHERE name = $1');

const isTrue = (happened: boolean): boolean => happened;
const isDone = (outcome: string): boolean => outcome === 'done' || outcome === 'deleted';

export function createAccounts(database: Database): AccountStore {
  const change = createAccountChange(database);
  const oldDays = new OldDays(database);
  const exclusive = new ExclusiveWork(database);
  return {
    exclusively: (work, accountIds) => exclusive.runOnSome('accounts', accountIds, work),

    async secret({ name, value }) {
      const [known] = await database.query(SELECT_SECRET, [name]);
      if (known) return text(known, 'value');
      await change((session) => session.execute(INSERT_SECRET, [name, value]));
      // Of several that start at once, the first one's counts.
      const [row] = await database.query(SELECT_SECRET, [name]);
      return row ? text(row, 'value') : value;
    },
    async findSecret({ name }) {
      const [row] = await database.query(SELECT_SECRET, [name]);
      return row ? text(row, 'value') : null;
    },
    listSecrets: async () =>
      (await database.query(SELECT_SECRETS)).map((row) => ({ name: text(row, 'name'), value: text(row, 'value') })),
    replaceSecret: ({ name, from, to }) =>
      change(async (session) => (await session.execute(UPDATE_SECRET, [name, to, from])) === 1),
    async deleteSecret({ name }) {
      await change((session) => session.execute(DELETE_SECRET, [name]));
    },

    createUser: ({ user, apiKey, audit }) =>
      change(async (session) => {
        await users.createUser(session, user);
        await users.createApiKey(session, apiKey);
      }, audit),
    listUsers: () => users.listUsers(database),
    pageOfUsers: ({ after, limit }) => users.pageOfUsers(database, after, limit),
    setUserDisabled: ({ userId, at, audit }) =>
      change(
        async (session) => {
          const locked = await users.lockUser(session, userId);
          if (!locked) return 'not-found';
          if (at !== null && locked.isLastOperator) return 'last-operator';
          users.setUserDisabled(session, userId, at);
          if (at !== null) {
            await sessions.deleteSessionsOfUser(session, userId);
            invitations.deleteInvitationsOfInviter(session, userId, null);
          }
          return 'done';
        },
        audit,
        isDone,
      ),
    setOperator: ({ userId, isOperator, audit }) =>
      change(
        async (session) => {
          const locked = await users.lockUser(session, userId);
          if (!locked) return 'not-found';
          if (!isOperator && locked.isLastOperator) return 'last-operator';
          users.setOperator(session, userId, isOperator);
          return 'done';
        },
        audit,
        isDone,
      ),
    deleteUser: ({ userId, successorId, audit }) =>
      change(
        async (session) => {
          const locked = await users.lockUser(session, userId);
          if (!locked) return 'not-found';
          if (locked.isLastOperator) return 'last-operator';
          if (await teams.ownsSomething(session, userId)) return 'owns-something';
          const left = await teams.leaveAllTeams(session, userId, successorId);
          if (left === 'last-owner') return 'last-owner';
          for (const teamId of left.deleted) invitations.deleteInvitationsOfTeam(session, teamId);
          invitations.deleteInvitationsOfInviter(session, userId, null);
          await sessions.deleteSessionsOfUser(session, userId);
          signIn.deleteSignInOfUser(session, userId);
          await users.deleteUser(session, userId);
          return 'deleted';
        },
        audit,
        isDone,
      ),
    revokeApiKeys: ({ userId, at, audit }) =>
      change(async (session) => {
        const revoked = await users.revokeApiKeys(session, userId, at);
        await sessions.deleteSessionsOfUser(session, userId);
        return revoked;
      }, audit),
    findUser: ({ userId }) => users.findUser(database, userId),
    findUserByEmail: ({ email }) => users.findUserByEmail(database, email),
    createApiKey: ({ apiKey, audit }) => change((session) => users.createApiKey(session, apiKey), audit),
    listApiKeys: ({ userId }) => users.listApiKeys(database, userId),
    revokeApiKey: ({ apiKeyId, userId, at, audit }) =>
      change(
        async (session) => {
          const revoked = await users.revokeApiKey(session, apiKeyId, userId, at);
          if (revoked) await sessions.deleteSessionsOfKey(session, apiKeyId);
          return revoked;
        },
        audit,
        isTrue,
      ),
    createSession: ({ session: record, audit }) => change((session) => sessions.createSession(session, record), audit, isTrue),
    findSession: ({ sessionHash }) => sessions.findSession(database, sessionHash),
    extendSession: ({ sessionHash, expiresAt }) =>
      database.transaction((session) => sessions.extendSession(session, sessionHash, expiresAt)),
    listSessions: ({ userId }) => sessions.listSessions(database, userId),
    deleteSessions: ({ userId, audit }) =>
      change(
        (session) => sessions.deleteSessionsOfUser(session, userId),
        audit,
        (deleted) => deleted > 0,
      ),
    deleteSession: ({ sessionHash, audit }) => change((session) => sessions.deleteSession(session, sessionHash), audit, isTrue),

    findByIdentity: (identity) => signIn.findByIdentity(database, identity),
    linkIdentity: ({ identity, userId, at, audit }) =>
      change((session) => signIn.linkIdentity(session, identity, userId, at), audit, isTrue),
    createUserOfIdentity: ({ identity, user, audit }) =>
      change((session) => signIn.createUserOfIdentity(session, identity, user), audit, isTrue),
    putRecoveryLink: ({ audit, ...link }) => change((session) => signIn.putRecoveryLink(session, link), audit, isTrue),
    findRecovery: ({ secretHash, at }) => signIn.findRecovery(database, secretHash, at),
    takeRecovery: ({ audit, ...taken }) => change((session) => signIn.takeRecovery(session, taken), audit, isTrue),

    createTeam: ({ team, owner, audit }) => change((session) => teams.createTeam(session, team, owner), audit),
    findTeam: ({ teamId }) => teams.findTeam(database, teamId),
    listTeams: ({ userId }) => teams.listTeams(database, userId),
    deleteTeam: ({ teamId, audit }) =>
      change(
        async (session) => {
          const outcome = await teams.deleteTeam(session, teamId);
          if (outcome === 'deleted') invitations.deleteInvitationsOfTeam(session, teamId);
          return outcome;
        },
        audit,
        isDone,
      ),
    listMembers: ({ teamId }) => teams.listMembers(database, teamId),
    putMember: ({ member, audit }) => change((session) => teams.putMember(session, member), audit, isDone),
    removeMember: ({ teamId, userId, audit }) =>
      change(
        async (session) => {
          const outcome = await teams.removeMember(session, teamId, userId);
          if (outcome === 'done') invitations.deleteInvitationsOfInviter(session, userId, teamId);
          return outcome;
        },
        audit,
        isDone,
      ),
    putInvitation: ({ invitation, audit }) => change((session) => invitations.putInvitation(session, invitation), audit),
    listInvitations: (query) => invitations.listInvitations(database, query),
    findInvitation: (query) => invitations.findInvitation(database, query),
    deleteInvitation: ({ invitationId, audit }) =>
      change((session) => invitations.deleteInvitation(session, invitationId), audit, isTrue),
    acceptInvitation: ({ invitationId, member, created, audit }) =>
      change(
        async (session) => {
          if (!(await invitations.deleteInvitation(session, invitationId))) return 'not-found';
          if (created) {
            await users.createUser(session, created.user);
            await users.createApiKey(session, created.apiKey);
          }
          await teams.putMember(session, member);
          return 'done';
        },
        audit,
        isDone,
      ),
    roleOf: async ({ accountId, userId }) => {
      if (accountId === userId) return (await users.findUser(database, userId)) ? 'owner' : null;
      return teams.roleInTeam(database, accountId, userId);
    },

    createInstance: (instance, audit, tokens = []) =>
      change(async (session) => {
        await instances.createInstance(session, instance);
        await instances.createTokens(session, tokens);
      }, audit),
    findInstance: ({ instanceId }) => instances.findInstance(database, instanceId),
    listInstances: () => instances.listInstances(database),
    instancesOf: ({ accountIds }) => instances.instancesOf(database, accountIds),
    totalsOf: ({ accountId }) => totalsOf(database, accountId),
    changeInstance: ({ instanceId, change: wanted, audit }) =>
      change(
        (session) => instances.changeInstance(session, instanceId, wanted),
        audit,
        (instance) => instance !== null,
      ),
    deleteInstance: ({ instanceId, at, audit }) =>
      change((session) => deleted.deleteInstance(session, instanceId, at), audit, isTrue),
    listDeletedInstances: () => deleted.listDeletedInstances(database),
    noteEmptied: ({ instanceId, at }) => change((session) => deleted.noteEmptied(session, instanceId, at)),
    forgetDeleted: ({ instanceId }) => change((session) => deleted.forgetDeleted(session, instanceId)),
    setSigningKeys: ({ instanceId, current, next, audit }) =>
      change((session) => instances.setSigningKeys(session, instanceId, current, next), audit),
    replaceInstanceKeys: ({ instanceId, from, to }) =>
      change((session) => instances.replaceInstanceKeys(session, instanceId, from, to)),

    addWorkflowOrigin: ({ instanceId, origin, limit }) =>
      change((session) => instances.addWorkflowOrigin(session, instanceId, origin, limit)),

    createToken: (token) => change((session) => instances.createTokens(session, [token])),
    findToken: ({ tokenId }) => instances.findToken(database, tokenId),
    listTokens: ({ instanceId }) => instances.listTokens(database, instanceId),
    revokeToken: ({ tokenId, at }) => change((session) => instances.revokeToken(session, tokenId, at)),
    replaceTokens: ({ instanceId, tokens, at, audit }) =>
      change((session) => instances.replaceTokens(session, instanceId, tokens, at), audit),

    createNamedToken: ({ token, replaces, audit }) =>
      change((session) => namedTokens.createNamedToken(session, token, replaces), audit, isTrue),
    findNamedToken: ({ tokenHash }) => namedTokens.findNamedToken(database, tokenHash),
    listNamedTokens: ({ instanceId }) => namedTokens.listNamedTokens(database, instanceId),
    revokeNamedToken: ({ audit, ...which }) => change((session) => namedTokens.revokeNamedToken(session, which), audit, isTrue),
    noteTokenUse: ({ tokenId, at }) => database.transaction((session) => namedTokens.noteTokenUse(session, tokenId, at)),

    usage: ({ instanceId, fromMonth }) => listUsage(database, instanceId, fromMonth),
    usageOfDays: ({ instanceId, fromDay }) => listDayUsage(database, instanceId, fromDay),
    async countOfDay(counts) {
      if (counts.length === 0) return;
      await change(async (session) => countDays(session, counts));
      await oldDays.counted(counts);
    },
    countsOfDays: ({ instanceId, fromDay }) => listDayCounts(database, instanceId, fromDay),
    createBudgetAlert: async ({ alert, lesser, ...of }) => {
      if (await alerts.isBudgetAlertNoted(database, alert)) return false;
      return change((session) => alerts.createBudgetAlert(session, alert, lesser, of));
    },
    dueBudgetAlerts: ({ before, limit }) => alerts.dueBudgetAlerts(database, before, limit),
    nextBudgetAlertAt: ({ after }) => alerts.nextBudgetAlertAt(database, after),
    rescheduleBudgetAlert: ({ alert, retried, dueAt }) =>
      change((session) => alerts.rescheduleBudgetAlert(session, alert, retried, dueAt)),

    lastLoginAt: ({ userId, place }) => lastLoginAt(database, userId, place),
    noteLogin: ({ userId, place, at }) => database.transaction((session) => noteLogin(session, userId, place, at)),

    addAudit: (entry) => change(async (session) => addAudit(session, entry)),
    listAudit: ({ accountIds, after, limit }) => listAudit(database, accountIds, after, limit),
  };
}
