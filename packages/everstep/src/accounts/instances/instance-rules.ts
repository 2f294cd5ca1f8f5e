/** Rules of queue instances: listings and tokens, combined with the rules of ownership, billing, usage and outbound requests. */
import type { TokenRecord } from '../../ports/stores/account-store.js';
import { type AccountRules, done, notFound } from '../account-rules.js';
import { type AccountService, type InstanceView, PERMISSIONS, type StorageUsage } from '../account-service.js';
import type { Plans } from '../plans/plans.js';
import type { LimitLookup } from '../quotas/account-limits.js';
import type { Authority } from '../tokens/authority.js';
import { createInstanceBilling } from './instance-billing.js';
import { createInstanceOwnership } from './instance-ownership.js';
import { createInstanceUsage } from './instance-usage.js';
import { usersOf } from './instance-users.js';
import { createInstanceViews } from './instance-views.js';
import { createOutboundRules } from './outbound-rules.js';
import { type ChangeInstance, type FindInstance, findVisibleInstance, QUEUE_INSTANCE } from './visible-instance.js';

export interface InstanceRulesOptions {
  readonly rules: AccountRules;
  readonly authority: Pick<Authority, 'newToken' | 'dropRevoked' | 'tokenOf'>;
  readonly plans: Plans;
  readonly limitOf: LimitLookup;
  readonly isOperator: (userId: string) => Promise<boolean>;
  /** Called after an instance has changed, so that no outdated state remains in use. */
  readonly onInstanceChanged: (instanceId: string) => unknown;
  /** Returns messages about work of the instance that is currently rejected. */
  readonly currentRefusals: (instanceId: string) => Promise<readonly string[]>;
  readonly storage: (instanceId: string) => Promise<StorageUsage | null>;
  readonly accountsOf: AccountService['accountsOf'];
}

type InstancePart = Pick<
  AccountService,
  | 'listInstances'
  | 'findInstance'
  | 'accessTo'
  | 'usersOf'
  | 'createInstance'
  | 'rotateTokens'
  | 'moveToTeam'
  | 'setBudget'
  | 'setBudgetAlert'
  | 'setPlan'
  | 'outboundRules'
  | 'setOutboundRules'
  | 'setAllowedDestinations'
  | 'stats'
  | 'usage'
  | 'plans'
>;

export function createInstanceRules(options: InstanceRulesOptions): InstancePart {
  const { rules, authority, plans, isOperator, accountsOf } = options;
  const { accounts, now } = rules;
  const view = createInstanceViews({ rules, authority, plans });

  const find: FindInstance = (principal, instanceId, permission) => findVisibleInstance(rules, principal, instanceId, permission);

  const newTokens = (instanceId: string): readonly TokenRecord[] => [
    authority.newToken({ instanceId, access: 'read-write' }),
    authority.newToken({ instanceId, access: 'read-only' }),
  ];

  const change: ChangeInstance = async (principal, instanceId, instanceChange, entry) => {
    const audit = rules.audit(principal, { ...entry, subject: instanceId });
    const changedInstance = await accounts.changeInstance({ instanceId, change: instanceChange, audit });
    await options.onInstanceChanged(instanceId);
    return changedInstance ? done(null) : notFound(QUEUE_INSTANCE);
  };

  return {
    ...createOutboundRules({ rules, find, change, isOperator }),
    ...createInstanceBilling({ rules, find, change, plans, isOperator }),
    ...createInstanceOwnership({ ...options, find, change, view, newTokens }),
    ...createInstanceUsage({ ...options, find }),
    plans: () => plans.all,

    async listInstances(principal) {
      const roles = new Map((await accountsOf(principal)).map(({ accountId, role }) => [accountId, role]));
      const views: InstanceView[] = [];
      for (const instance of await accounts.instancesOf({ accountIds: [...roles.keys()] })) {
        const role = instance.accountId === undefined ? undefined : roles.get(instance.accountId);
        if (role && PERMISSIONS[role].includes('see')) views.push(await view(instance, role));
      }
      return views;
    },

    async findInstance(principal, instanceId) {
      const lookup = await find(principal, instanceId, 'see');
      return lookup.kind === 'found' ? done(await view(lookup.instance, lookup.role)) : lookup;
    },

    async accessTo(principal, instanceId) {
      const lookup = await find(principal, instanceId, 'see');
      if (lookup.kind !== 'found') return lookup;
      const access = PERMISSIONS[lookup.role].includes('use') ? 'read-write' : 'read-only';
      return done({ instance: lookup.instance, access });
    },

    usersOf: (instanceId) => usersOf(accounts, instanceId),

    rotateTokens: (principal, instanceId) =>
      rules.withInstanceLock(principal, instanceId, async () => {
        const lookup = await find(principal, instanceId, 'change');
        if (lookup.kind !== 'found') return lookup;
        const entry = { action: 'queue.rotate-token', subject: instanceId, accountIds: [lookup.owner] };
        const audit = rules.audit(principal, entry);
        const tokens = newTokens(instanceId);
        authority.dropRevoked(instanceId, await accounts.replaceTokens({ instanceId, tokens, at: now(), audit }));
        return done(await view(lookup.instance, lookup.role));
      }),
  };
}
