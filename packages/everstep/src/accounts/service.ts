/** Combines logins and the rules for keys, teams and queue instances into the account service on an account store. */

import type { Log } from '../ports/log.js';
import type { Random } from '../ports/random.js';
import type { AccountStore } from '../ports/stores/account-store.js';
import { AccountRules } from './account-rules.js';
import type { AccountService, StorageUsage } from './account-service.js';
import { createInstanceDeletion } from './instances/delete-instance.js';
import { createInstanceRules } from './instances/instance-rules.js';
import type { Plans } from './plans/plans.js';
import { createLimitLookup } from './quotas/account-limits.js';
import { createIdentityRules } from './sign-in/identity-sign-in.js';
import { createLinkedIdentities } from './sign-in/linked-identities.js';
import { createRecovery } from './sign-in/recovery.js';
import { createInvitationReplies } from './teams/invitation-replies.js';
import { createInvitations } from './teams/invitations.js';
import { createTeamRules } from './teams/team-rules.js';
import type { Authority } from './tokens/authority.js';
import { createTokenRules } from './tokens/token-rules.js';
import { createApiKeyRules } from './users/api-key-rules.js';
import { createFailedLogins } from './users/failed-logins.js';
import { createLogin } from './users/login.js';
import { createSessions } from './users/sessions.js';
import { createUserRules, isOperator } from './users/user-rules.js';

export interface AccountServiceOptions {
  readonly accounts: AccountStore;
  readonly authority: Pick<Authority, 'newToken' | 'dropRevoked' | 'tokenOf' | 'revoke'>;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  readonly random: Random;
  readonly plans: Plans;
  /** Called after an instance has changed, and awaited before the response is sent. */
  readonly onInstanceChanged?: (instanceId: string) => unknown;
  /** Called after an instance was deleted, and awaited before the response is sent. */
  readonly onInstanceDeleted?: (instanceId: string) => unknown;
  /** Returns messages about work of the instance that is currently rejected. Default: none. */
  readonly currentRefusals?: (instanceId: string) => Promise<readonly string[]>;
  /** Returns the storage usage of the account of an instance. Default: unknown. */
  readonly storage?: (instanceId: string) => Promise<StorageUsage | null>;
  /** Logs failed logins that belong to no account. */
  readonly log?: Pick<Log, 'warn'>;
}

export function createAccountService(options: AccountServiceOptions): AccountService {
  const { accounts, authority, now, random, plans } = options;
  const rules = new AccountRules({ accounts, now, random });
  const limitOf = createLimitLookup({ accounts, plans, isOperator: (userId) => isOperator(rules, userId) });
  const apiKeyRules = createApiKeyRules(rules);
  const failedLogins = createFailedLogins();
  const countFailure = ({ address }: { readonly address: string }) => failedLogins.recordFailure({ email: '', address }, now());
  const { invite, ...invitations } = createInvitations(rules);
  const login = createLogin({ rules, failedLogins, ...(options.log ? { log: options.log } : {}) });
  const { start: startSession, ...sessions } = createSessions(rules, login.logIn);

  return {
    ...login,
    ...sessions,
    ...createIdentityRules({ rules, startSession, countFailure }),
    ...createLinkedIdentities(rules),
    ...createRecovery({ rules, countFailure }),
    ...createUserRules(rules),
    ...apiKeyRules,
    ...invitations,
    ...createInvitationReplies({ rules, limitOf, countFailure }),
    ...createTeamRules(rules, { invite }, limitOf),
    ...createTokenRules({ rules, authority }),
    ...createInstanceDeletion({
      rules,
      isOperator: (userId) => isOperator(rules, userId),
      onInstanceDeleted: options.onInstanceDeleted ?? (() => undefined),
      accountsOf: apiKeyRules.accountsOf,
      defaultPlan: plans.planOf({}),
    }),
    ...createInstanceRules({
      rules,
      authority,
      plans,
      limitOf,
      isOperator: (userId) => isOperator(rules, userId),
      onInstanceChanged: options.onInstanceChanged ?? (() => undefined),
      currentRefusals: options.currentRefusals ?? (async () => []),
      storage: options.storage ?? (async () => null),
      accountsOf: apiKeyRules.accountsOf,
    }),
  };
}
