/** Accounts: few rows, rarely changed; each method is one durable transaction, with the entry of the audit log in it. */
import type { AccountStore, QueueInstance } from '../../../ports/stores/account-store.js';
import { AuditLog } from '../audit/audit-log.js';
import { text } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import { DeletedInstances } from '../instance-removal/deleted-instances.js';
import { SignInRecords } from '../sign-in/records.js';
import { createAccountChange, write } from './account-change.js';
import { AccountInstances } from './account-instances.js';
import { AccountInvitations } from './account-invitations.js';
import { AccountTeams } from './account-teams.js';
import { AccountUsers } from './account-users.js';
import { BudgetAlertRows } from './budget-alerts.js';
import { LoginPlaces } from './login-places.js';
import { LoginSessions } from './login-sessions.js';
import { NamedTokens } from './named-tokens.js';

const budgetOf = (instance: QueueInstance): number => instance.budgetDollars ?? 0;
const ownerOf = (instance: QueueInstance): string | null => instance.accountId ?? null;

const isBudgetedAnew = (before: QueueInstance, after: QueueInstance): boolean =>
  budgetOf(before) !== budgetOf(after) || ownerOf(before) !== ownerOf(after);

export function createAccounts(parts: Pick<StoreParts, 'connection' | 'usage' | 'days' | 'stored'>): AccountStore {
  const { connection, usage, days, stored } = parts;
  const insertSecret = connection.prepare('INSERT INTO secret (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING');
  const selectSecret = connection.prepare('SELECT value FROM secret WHERE name = ?');
  const selectSecrets = connection.prepare('SELECT name, value FROM secret ORDER BY name');
  const updateSecret = connection.prepare('UPDATE secret SET value = ? WHERE name = ? AND value = ?');
  const removeSecret = connection.prepare('DELETE FROM secret WHERE name = ?');
  const users = new AccountUsers(connection);
  const teams = new AccountTeams(connection);
  const invitations = new AccountInvitations(connection);
  const instances = new AccountInstances(connection);
  const alerts = new BudgetAlertRows(connection);
  const places = new LoginPlaces(connection);
  const sessions = new LoginSessions(connection);
  const namedTokens = new NamedTokens(connection);
  const deleted = new DeletedInstances(connection);
  const signIn = new SignInRecords(connection);
  const log = new AuditLog(connection);
  const change = createAccountChange(connection, log);

  return {
    async secret({ name, value }) {
      const known = selectSecret.get(name);
      // A store that takes no writes can be read all the same.
      if (known) return text(known, 'value');
      await change(() => insertSecret.run(name, value));
      const row = selectSecret.get(name);
      return row ? text(row, 'value') : value;
    },
    async findSecret({ name }) {
      const row = selectSecret.get(name);
      return row ? text(row, 'value') : null;
    },
    listSecrets: async () => selectSecrets.all().map((row) => ({ name: text(row, 'name'), value: text(row, 'value') })),
    replaceSecret: ({ name, from, to }) => change(() => updateSecret.run(to, name, from).changes === 1),
    async deleteSecret({ name }) {
      await change(() => removeSecret.run(name));
    },

    createUser: ({ user, apiKey, audit }) =>
      change(() => {
        users.create(user);
        users.createApiKey(apiKey);
      }, audit),
    listUsers: async () => users.list(),
    pageOfUsers: async ({ after, limit }) => users.page(after, limit),
    setUserDisabled: ({ userId, at, audit }) =>
      change(
        () => {
          const user = users.find(userId);
          if (!user) return 'not-found';
          if (at !== null && users.isLastOperator(user)) return 'last-operator';
          users.setDisabled(userId, at);
          if (at !== null) {
            sessions.deleteOfUser(userId);
            invitations.deleteOfInviter(userId, null);
          }
          return 'done';
        },
        audit,
        (outcome) => outcome === 'done',
      ),
    setOperator: ({ userId, isOperator, audit }) =>
      change(
        () => {
          const user = users.find(userId);
          if (!user) return 'not-found';
          if (!isOperator && users.isLastOperator(user)) return 'last-operator';
          users.setOperator(userId, isOperator);
          return 'done';
        },
        audit,
        (outcome) => outcome === 'done',
      ),
    deleteUser: ({ userId, successorId, audit }) =>
      change(
        () => {
          const user = users.find(userId);
          if (!user) return 'not-found';
          if (users.isLastOperator(user)) return 'last-operator';
          if (teams.ownsSomething(userId)) return 'owns-something';
          const left = teams.leaveAll(userId, successorId);
          if (left === 'last-owner') return 'last-owner';
          for (const teamId of left.deleted) invitations.deleteOfTeam(teamId);
          invitations.deleteOfInviter(userId, null);
          sessions.deleteOfUser(userId);
          signIn.deleteOfUser(userId);
          users.delete(userId);
          return 'deleted';
        },
        audit,
        (outcome) => outcome === 'deleted',
      ),
    revokeApiKeys: ({ userId, at, audit }) =>
      change(() => {
        sessions.deleteOfUser(userId);
        return users.revokeApiKeys(userId, at);
      }, audit),
    findUser: async ({ userId }) => users.find(userId),
    findUserByEmail: async ({ email }) => users.findByEmail(email),
    createApiKey: ({ apiKey, audit }) => change(() => users.createApiKey(apiKey), audit),
    listApiKeys: async ({ userId }) => users.listApiKeys(userId),
    revokeApiKey: ({ apiKeyId, userId, at, audit }) =>
      change(
        () => {
          const revoked = users.revokeApiKey(apiKeyId, userId, at);
          if (revoked) sessions.deleteOfKey(apiKeyId);
          return revoked;
        },
        audit,
        (revoked) => revoked,
      ),
    createSession: ({ session, audit }) =>
      change(
        () => sessions.create(session),
        audit,
        (created) => created,
      ),
    findSession: async ({ sessionHash }) => {
      const session = sessions.find(sessionHash);
      const user = session && users.find(session.userId);
      return session && user ? { session, user } : null;
    },
    extendSession: async ({ sessionHash, expiresAt }) => write(connection, () => sessions.moveEnd(sessionHash, expiresAt)),
    listSessions: async ({ userId }) => sessions.listOfUser(userId),
    deleteSessions: ({ userId, audit }) =>
      change(
        () => sessions.deleteOfUser(userId),
        audit,
        (deleted) => deleted > 0,
      ),
    deleteSession: ({ sessionHash, audit }) =>
      change(
        () => sessions.delete(sessionHash),
        audit,
        (deleted) => deleted,
      ),

    findByIdentity: async (identity) => {
      const userId = signIn.userOf(identity);
      return userId === null ? null : users.find(userId);
    },
    linkIdentity: ({ identity, userId, at, audit }) =>
      change(
        () => signIn.link(identity, userId, at),
        audit,
        (linked) => linked,
      ),
    createUserOfIdentity: ({ identity, user, audit }) =>
      change(
        () => {
          if (users.findByEmail(user.email) || signIn.userOf(identity) !== null) return false;
          users.create(user);
          return signIn.link(identity, user.userId, user.createdAt);
        },
        audit,
        (created) => created,
      ),
    putRecoveryLink: ({ userId, secretHash, createdAt, expiresAt, audit }) =>
      change(
        () => signIn.putLink(userId, secretHash, createdAt, expiresAt),
        audit,
        (put) => put,
      ),
    findRecovery: async ({ secretHash, at }) => {
      const userId = signIn.userOfLink(secretHash, at);
      return userId === null ? null : users.find(userId);
    },
    takeRecovery: ({ secretHash, at, apiKey, audit }) =>
      change(
        () => {
          if (signIn.userOfLink(secretHash, at) !== apiKey.userId) return false;
          signIn.dropLink(apiKey.userId);
          users.createApiKey(apiKey);
          return true;
        },
        audit,
        (taken) => taken,
      ),

    createTeam: ({ team, owner, audit }) => change(() => teams.create(team, owner), audit),
    findTeam: async ({ teamId }) => teams.find(teamId),
    listTeams: async ({ userId }) => teams.list(userId),
    deleteTeam: ({ teamId, audit }) =>
      change(
        () => {
          const outcome = teams.delete(teamId);
          if (outcome === 'deleted') invitations.deleteOfTeam(teamId);
          return outcome;
        },
        audit,
        (outcome) => outcome === 'deleted',
      ),
    listMembers: async ({ teamId }) => teams.members(teamId),
    putMember: ({ member, audit }) =>
      change(
        () => teams.putMember(member),
        audit,
        (outcome) => outcome === 'done',
      ),
    removeMember: ({ teamId, userId, audit }) =>
      change(
        () => {
          const outcome = teams.removeMember(teamId, userId);
          if (outcome === 'done') invitations.deleteOfInviter(userId, teamId);
          return outcome;
        },
        audit,
        (outcome) => outcome === 'done',
      ),
    putInvitation: ({ invitation, audit }) => change(() => invitations.put(invitation), audit),
    listInvitations: async (query) => invitations.list(query),
    findInvitation: async (query) => invitations.find(query),
    deleteInvitation: ({ invitationId, audit }) =>
      change(
        () => invitations.delete(invitationId),
        audit,
        (deleted) => deleted,
      ),
    acceptInvitation: ({ invitationId, member, created, audit }) =>
      change(
        () => {
          if (!invitations.delete(invitationId)) return 'not-found';
          if (created) {
            users.create(created.user);
            users.createApiKey(created.apiKey);
          }
          teams.putMember(member);
          return 'done';
        },
        audit,
        (outcome) => outcome === 'done',
      ),
    roleOf: async ({ accountId, userId }) => {
      if (accountId === userId) return users.find(userId) ? 'owner' : null;
      return teams.roleOf(accountId, userId);
    },

    createInstance: (instance, audit, tokens = []) =>
      change(() => {
        instances.create(instance);
        for (const token of tokens) instances.createToken(token);
        usage.instanceChanged(instance.instanceId, instance.price);
      }, audit),
    findInstance: async ({ instanceId }) => instances.find(instanceId),
    listInstances: async () => instances.list(),
    instancesOf: async ({ accountIds }) => instances.ofAccounts(accountIds),
    totalsOf: async ({ accountId }) => stored.ofAccount(accountId),
    changeInstance: ({ instanceId, change: wanted, audit }) =>
      change(
        () => {
          const before = instances.find(instanceId);
          const after = instances.change(instanceId, wanted);
          usage.instanceChanged(instanceId, after ? wanted.price : undefined);
          if (before && after && isBudgetedAnew(before, after)) alerts.forget(instanceId);
          return after;
        },
        audit,
        (instance) => instance !== null,
      ),
    deleteInstance: ({ instanceId, at, audit }) =>
      change(
        () => {
          usage.instanceChanged(instanceId, undefined);
          return deleted.delete(instanceId, at);
        },
        audit,
        (happened) => happened,
      ),
    listDeletedInstances: async () => deleted.list(),
    noteEmptied: ({ instanceId, at }) => change(() => deleted.noteEmptied(instanceId, at)),
    forgetDeleted: ({ instanceId }) => change(() => deleted.forget(instanceId)),
    setSigningKeys: ({ instanceId, current, next, audit }) =>
      change(() => instances.setSigningKeys(instanceId, current, next), audit),
    replaceInstanceKeys: ({ instanceId, from, to }) => change(() => instances.replaceKeys(instanceId, from, to)),

    addWorkflowOrigin: ({ instanceId, origin, limit }) => change(() => instances.addWorkflowOrigin(instanceId, origin, limit)),

    createToken: (token) => change(() => instances.createToken(token)),
    findToken: async ({ tokenId }) => instances.findToken(tokenId),
    listTokens: async ({ instanceId }) => instances.listTokens(instanceId),
    revokeToken: ({ tokenId, at }) => change(() => instances.revokeToken(tokenId, at)),
    replaceTokens: ({ instanceId, tokens, at, audit }) => change(() => instances.replaceTokens(instanceId, tokens, at), audit),

    createNamedToken: ({ token, replaces, audit }) =>
      change(
        () => namedTokens.create(token, replaces),
        audit,
        (created) => created,
      ),
    findNamedToken: async ({ tokenHash }) => namedTokens.find(tokenHash),
    listNamedTokens: async ({ instanceId }) => namedTokens.list(instanceId),
    revokeNamedToken: ({ instanceId, tokenId, at, audit }) =>
      change(
        () => namedTokens.revoke(instanceId, tokenId, at),
        audit,
        (revoked) => revoked,
      ),
    noteTokenUse: async ({ tokenId, at }) => write(connection, () => namedTokens.noteUse(tokenId, at)),

    usage: async ({ instanceId, fromMonth }) => usage.list(instanceId, fromMonth),
    usageOfDays: async ({ instanceId, fromDay }) => usage.listDays(instanceId, fromDay),
    countOfDay: (counts) => change(() => days.write(counts)),
    countsOfDays: async ({ instanceId, fromDay }) => days.list(instanceId, fromDay),
    createBudgetAlert: async ({ alert, lesser, budgetDollars, accountId }) => {
      const isOf = (instance: QueueInstance | null) =>
        instance !== null && budgetOf(instance) === budgetDollars && ownerOf(instance) === accountId;
      if (alerts.isNoted(alert) || !isOf(instances.find(alert.instanceId))) return false;
      return change(() => isOf(instances.find(alert.instanceId)) && alerts.note(alert, lesser));
    },
    dueBudgetAlerts: async ({ before, limit }) => {
      const due = alerts.due(before, limit);
      // They are acted on, so what is shown here has to be on the disk.
      if (due.length > 0) await connection.durable();
      return due;
    },
    nextBudgetAlertAt: async ({ after }) => alerts.nextAt(after),
    rescheduleBudgetAlert: ({ alert, retried, dueAt }) => change(() => alerts.move(alert, retried, dueAt)),

    lastLoginAt: async ({ userId, place }) => places.notedAt(userId, place),
    // Not on the disk until the next commit is: what a crash takes back is noted again at the next login.
    noteLogin: async ({ userId, place, at }) => write(connection, () => places.note(userId, place, at)),

    addAudit: (entry) => change(() => log.add(entry)),
    listAudit: async ({ accountIds, after, limit }) => log.list(accountIds, after, limit),
  };
}
