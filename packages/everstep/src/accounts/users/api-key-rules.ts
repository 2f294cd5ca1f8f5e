/** Resources of the user: API keys, the accounts that the user can see, and their audit log. */
import { LIMITS } from '../../config/limits.js';
import type { ApiKeyRecord } from '../../ports/stores/account-store.js';
import { type AccountRules, done, notFound, refuse } from '../account-rules.js';
import type { AccountService } from '../account-service.js';
import { hashOfApiKey } from './api-key-hash.js';

type ApiKeyPart = Pick<AccountService, 'listApiKeys' | 'createApiKey' | 'revokeApiKey' | 'accountsOf' | 'auditLog'>;

export function createApiKeyRules(rules: AccountRules): ApiKeyPart {
  const { accounts, now } = rules;

  const findValidKeys = async (userId: string): Promise<readonly ApiKeyRecord[]> =>
    (await accounts.listApiKeys({ userId })).filter(({ revokedAt }) => revokedAt === undefined);

  const accountsOf: AccountService['accountsOf'] = async ({ user }) => {
    const teams = await accounts.listTeams({ userId: user.userId });
    return [{ accountId: user.userId, role: 'owner' }, ...teams.map(({ teamId, role }) => ({ accountId: teamId, role }))];
  };

  return {
    accountsOf,
    listApiKeys: ({ user }) => accounts.listApiKeys({ userId: user.userId }),
    createApiKey: (principal, name) =>
      rules.withUserLock(principal, async () => {
        const { userId } = principal.user;
        if ((await findValidKeys(userId)).length >= LIMITS.maxApiKeys)
          return refuse('conflict', `a user can have at most ${LIMITS.maxApiKeys} valid API keys; revoke one first`);
        const apiKey = rules.newSecret('ek');
        const apiKeyId = rules.newId('key');
        const record: ApiKeyRecord = { apiKeyId, userId, name, keyHash: hashOfApiKey(apiKey), createdAt: now() };
        const change = { action: 'api-key.create', subject: apiKeyId, details: { name }, accountIds: [userId] };
        await accounts.createApiKey({ apiKey: record, audit: rules.audit(principal, change) });
        return done({ apiKey, record });
      }, [principal.user.userId]),
    revokeApiKey: (principal, apiKeyId) =>
      rules.withUserLock(principal, async () => {
        const { userId } = principal.user;
        const userKeys = await findValidKeys(userId);
        if (!userKeys.some((key) => key.apiKeyId === apiKeyId)) return notFound('valid API key');
        if (userKeys.length === 1)
          return refuse(
            'conflict',
            "this is the user's last valid API key, and without it the user could not sign in; create another one first",
          );
        const audit = rules.audit(principal, { action: 'api-key.revoke', subject: apiKeyId, accountIds: [userId] });
        const isRevoked = await accounts.revokeApiKey({ apiKeyId, userId, at: now(), audit });
        return isRevoked ? done(null) : notFound('valid API key');
      }, [principal.user.userId]),
    async auditLog(principal, { after, limit }) {
      const accountIds = (await accountsOf(principal)).map(({ accountId }) => accountId);
      return accounts.listAudit({ accountIds, after, limit });
    },
  };
}
