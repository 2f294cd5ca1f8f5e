/** Plan, monthly budget and budget alerts of an instance. */
import { LIMITS } from '../../config/limits.js';
import { type AccountRules, notFound, refuse } from '../account-rules.js';
import type { AccountService } from '../account-service.js';
import type { Plans } from '../plans/plans.js';
import { type ChangeInstance, type FindInstance, QUEUE_INSTANCE } from './visible-instance.js';

export interface InstanceBillingOptions {
  readonly rules: AccountRules;
  readonly find: FindInstance;
  readonly change: ChangeInstance;
  readonly plans: Plans;
  readonly isOperator: (userId: string) => Promise<boolean>;
}

export function createInstanceBilling(
  options: InstanceBillingOptions,
): Pick<AccountService, 'setBudget' | 'setBudgetAlert' | 'setPlan'> {
  const { rules, find, change, plans } = options;
  const { accounts } = rules;

  return {
    setBudget: (principal, { instanceId, dollars }) =>
      rules.withInstanceLock(principal, instanceId, async () => {
        const lookup = await find(principal, instanceId, 'pay');
        if (lookup.kind !== 'found') return lookup;
        const { minBudgetDollars, maxBudgetDollars } = LIMITS;
        const isValidBudget =
          Number.isInteger(dollars) && (dollars === 0 || (dollars >= minBudgetDollars && dollars <= maxBudgetDollars));
        if (!isValidBudget)
          return refuse(
            'invalid',
            `body.budget must be 0 (no limit) or a whole number from ${minBudgetDollars} to ${maxBudgetDollars} dollars, not ${dollars}`,
          );
        const details = { from: lookup.instance.budgetDollars ?? 0, to: dollars };
        const entry = { action: 'queue.update-budget', details, accountIds: [lookup.owner] };
        // Stores 0 instead of -0.
        return change(principal, instanceId, { budgetDollars: dollars === 0 ? 0 : dollars }, entry);
      }),

    setBudgetAlert: (principal, { instanceId, url }) =>
      rules.withInstanceLock(principal, instanceId, async () => {
        const lookup = await find(principal, instanceId, 'pay');
        if (lookup.kind !== 'found') return lookup;
        if (url !== null && !URL.canParse(url)) return refuse('invalid', 'body.url must be an absolute http or https URL');
        // Paths and queries of such URLs often contain secrets, so only the host is logged.
        const details = { host: url === null ? null : new URL(url).host };
        const entry = { action: 'queue.set-budget-alert', details, accountIds: [lookup.owner] };
        return change(principal, instanceId, { budgetAlertUrl: url }, entry);
      }),

    setPlan: (principal, { instanceId, plan }) =>
      rules.withInstanceLock(principal, instanceId, async () => {
        const isOperator = await options.isOperator(principal.user.userId);
        const lookup = await find(principal, instanceId, 'see');
        if (lookup.kind !== 'found' && !isOperator) return lookup;
        if (!isOperator) return refuse('forbidden', 'only an operator of this installation can set plans');
        const instance = await accounts.findInstance({ instanceId });
        if (!instance) return notFound(QUEUE_INSTANCE);
        const newPlan = plans.find(plan);
        const planNames = plans.all.map(({ name }) => name);
        if (!newPlan) return refuse('invalid', `body.plan_name must be one of ${planNames.join(', ')}`);
        const details = { from: plans.planOf(instance).name, to: plan };
        const accountIds = [...new Set([instance.accountId ?? principal.user.userId, principal.user.userId])];
        // Usage already counted keeps its price.
        const instanceChange = { plan, price: newPlan.pricePer100kMessages };
        return change(principal, instanceId, instanceChange, { action: 'queue.set-plan', details, accountIds });
      }),
  };
}
