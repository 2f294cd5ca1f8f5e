/** Creates instances and moves them to teams: operations that change which instances an account owns. */
import { LIMITS } from '../../config/limits.js';
import { REGIONS } from '../../config/regions.js';
import type { QueueInstance, TokenRecord } from '../../ports/stores/account-store.js';
import { type AccountRules, done, notFound, refuse } from '../account-rules.js';
import type { AccountService, Principal } from '../account-service.js';
import type { Plans } from '../plans/plans.js';
import type { LimitLookup } from '../quotas/account-limits.js';
import type { ViewInstance } from './instance-views.js';
import type { ChangeInstance, FindInstance } from './visible-instance.js';

const PERSONAL_ID = /^usr_/;

export interface InstanceOwnershipOptions {
  readonly rules: AccountRules;
  readonly find: FindInstance;
  readonly change: ChangeInstance;
  readonly view: ViewInstance;
  /** Returns the records of new permanent tokens of an instance. */
  readonly newTokens: (instanceId: string) => readonly TokenRecord[];
  readonly plans: Plans;
  readonly limitOf: LimitLookup;
  readonly isOperator: (userId: string) => Promise<boolean>;
  /** Called after an instance has changed, so that no outdated state remains in use. */
  readonly onInstanceChanged: (instanceId: string) => unknown;
}

export function createInstanceOwnership(
  options: InstanceOwnershipOptions,
): Pick<AccountService, 'createInstance' | 'moveToTeam'> {
  const { rules, find, change, view, newTokens, plans } = options;
  const { accounts, now } = rules;

  /** Returns a refusal if the account may not own another instance, otherwise null. */
  async function checkInstanceLimit({ user }: Principal, accountId: string) {
    const maxInstances = Math.min(LIMITS.maxInstances, await options.limitOf('maxInstances', accountId, user.userId));
    const ownedInstances = await accounts.instancesOf({ accountIds: [accountId] });
    return ownedInstances.length < maxInstances
      ? null
      : refuse(
          'conflict',
          `this account has reached its limit of queue instances (maxInstances: ${maxInstances}); delete one first`,
        );
  }

  return {
    createInstance: (principal, { name, region, teamId }) =>
      rules.withUserLock(principal, async () => {
        if (!REGIONS.some((knownRegion) => knownRegion === region))
          return refuse('invalid', `region must be one of ${REGIONS.join(', ')}`);
        const accountId = teamId ?? principal.user.userId;
        const permissionCheck = await rules.checkPermission(principal, accountId, 'change', 'team');
        if (permissionCheck.kind !== 'allowed') return permissionCheck;
        const refusal = await checkInstanceLimit(principal, accountId);
        if (refusal) return refusal;
        const isOperator = await options.isOperator(principal.user.userId);
        const plan = isOperator ? plans.planOf({}) : plans.planForNewInstances;
        const instance: QueueInstance = {
          instanceId: rules.newId('qi'),
          region,
          name,
          createdAt: now(),
          currentSigningKey: rules.newSecret('sig'),
          nextSigningKey: rules.newSecret('sig'),
          accountId,
          price: plan.pricePer100kMessages,
          ...(plan === plans.planOf({}) ? {} : { plan: plan.name }),
        };
        const { instanceId } = instance;
        const entry = { action: 'queue.create', subject: instanceId, details: { name, region }, accountIds: [accountId] };
        await accounts.createInstance(instance, rules.audit(principal, entry), newTokens(instanceId));
        await options.onInstanceChanged(instanceId);
        return done(await view(instance, permissionCheck.role));
      }, [teamId ?? principal.user.userId]),

    moveToTeam: (principal, { instanceId, teamId }) =>
      rules.withUserLock(principal, async () => {
        const lookup = await find(principal, instanceId, 'transfer');
        if (lookup.kind !== 'found') return lookup;
        // Checks only the format of the id, so that the response does not reveal whether the account exists.
        if (PERSONAL_ID.test(teamId) || teamId === principal.user.userId)
          return refuse(
            'invalid',
            'body.target_team_id is the id of a personal account; moving to a personal account is not supported',
          );
        if (!(await accounts.findTeam({ teamId }))) return notFound('team');
        const permissionCheck = await rules.checkPermission(principal, teamId, 'change', 'team');
        if (permissionCheck.kind !== 'allowed') return permissionCheck;
        if (lookup.owner === teamId) return done(null);
        const refusal = await checkInstanceLimit(principal, teamId);
        if (refusal) return refusal;
        const details = { from: lookup.owner, to: teamId };
        const entry = { action: 'queue.move-to-team', details, accountIds: [lookup.owner, teamId] };
        return change(principal, instanceId, { accountId: teamId }, entry);
      }),
  };
}
