/** Builds the view of an instance for a user, with the tokens if the role of the user may use them. */
import type { QueueInstance, Role } from '../../ports/stores/account-store.js';
import type { AccountRules } from '../account-rules.js';
import { type InstanceView, PERMISSIONS } from '../account-service.js';
import type { Plans } from '../plans/plans.js';
import type { Authority } from '../tokens/authority.js';
import type { TokenAccess } from '../tokens/caller.js';
import { countsSince } from './instance-usage.js';

export type ViewInstance = (instance: QueueInstance, role: Role) => Promise<InstanceView>;

export function createInstanceViews(options: {
  readonly rules: AccountRules;
  readonly authority: Pick<Authority, 'tokenOf'>;
  readonly plans: Plans;
}): ViewInstance {
  const { rules, authority, plans } = options;
  const { accounts, now } = rules;

  /**
   * Returns the newest valid token of each kind. Signing the same claims always gives the same JWT, so a token is
   * rebuilt from its record.
   */
  async function tokensOf(instanceId: string): Promise<{ readonly token?: string; readonly readOnlyToken?: string }> {
    const validTokens = (await accounts.listTokens({ instanceId })).filter(({ revokedAt }) => revokedAt === null);
    const newestToken = async (access: TokenAccess): Promise<string | undefined> => {
      const record = validTokens.findLast((token) => token.access === access);
      return record && authority.tokenOf(record);
    };
    const [token, readOnlyToken] = [await newestToken('read-write'), await newestToken('read-only')];
    return { ...(token === undefined ? {} : { token }), ...(readOnlyToken === undefined ? {} : { readOnlyToken }) };
  }

  return async (instance, role) => {
    const tokens = PERMISSIONS[role].includes('use') ? await tokensOf(instance.instanceId) : {};
    const { requestsToday } = await countsSince(rules, instance.instanceId, now());
    return { instance, role, plan: plans.planOf(instance), requestsToday, ...tokens };
  };
}
