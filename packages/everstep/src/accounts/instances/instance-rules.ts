/** Queue instances: listing, creation, transfer, plans, budgets and usage. */
import { LIMITS } from '../../config/limits.js';
import { REGIONS } from '../../config/regions.js';
import type { QueueInstance, Role, TokenRecord } from '../../ports/stores/account-store.js';
import { type AccountRules, done, notFound, refuse } from '../account-rules.js';
import {
  type AccountService,
  type InstanceStats,
  type InstanceView,
  type Principal,
  type RefusalCount,
  RIGHTS,
  type StorageStanding,
} from '../account-service.js';
import { monthsBetween } from '../budgets/billed-months.js';
import { dailyUsage } from '../budgets/daily-usage.js';
import { dayOf, monthOf } from '../budgets/months.js';
import { costOf } from '../budgets/prices.js';
import type { Plans } from '../plans/plans.js';
import type { RefusalKind } from '../plans/refusals.js';
import type { LimitOf } from '../quotas/account-limits.js';
import type { Access, Authority } from '../tokens/authority.js';
import { createOutboundRules } from './outbound-rules.js';
import { type ChangeInstance, type FindInstance, findVisibleInstance, INSTANCE } from './visible-instance.js';

const NOTHING_STORED: StorageStanding = {
  instanceBytes: 0,
  accountBytes: 0,
  maxBytes: null,
  activeRuns: 0,
  maxActiveRuns: null,
};

const PERSONAL_ID = /^usr_/;

export interface InstanceRulesOptions {
  readonly rules: AccountRules;
  readonly authority: Pick<Authority, 'newToken' | 'revoked' | 'tokenOf'>;
  readonly plans: Plans;
  readonly limitOf: LimitOf;
  readonly isOperator: (userId: string) => Promise<boolean>;
  /** Called after an instance has changed, so that no outdated state remains in use. */
  readonly instanceChanged: (instanceId: string) => unknown;
  /** Returns messages about what the instance is currently refused. */
  readonly refusedNow: (instanceId: string) => Promise<readonly string[]>;
  readonly storage: (instanceId: string) => Promise<StorageStanding | null>;
  readonly accountsOf: AccountService['accountsOf'];
}

type InstancePart = Pick<
  AccountService,
  | 'listInstances'
  | 'findInstance'
  | 'accessTo'
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
  const { rules, authority, plans, accountsOf } = options;
  const { accounts, now } = rules;

  const find: FindInstance = (principal, instanceId, right) => findVisibleInstance(rules, principal, instanceId, right);
  /**
   * Returns the newest valid token of each kind. A JWT with the same claims is the same text, so it is rebuilt from
   * its record.
   */
  async function tokensOf(instanceId: string): Promise<{ readonly token?: string; readonly readOnlyToken?: string }> {
    const valid = (await accounts.listTokens({ instanceId })).filter(({ revokedAt }) => revokedAt === null);
    const newest = async (access: Access): Promise<string | undefined> => {
      const record = valid.findLast((token) => token.access === access);
      return record && authority.tokenOf(record);
    };
    const [token, readOnlyToken] = [await newest('read-write'), await newest('read-only')];
    return { ...(token === undefined ? {} : { token }), ...(readOnlyToken === undefined ? {} : { readOnlyToken }) };
  }

  /** Counts runs and refusals on the UTC days since `from` (Unix ms). */
  async function countedSince(instanceId: string, from: number): Promise<Pick<InstanceStats, 'requestsToday' | 'refusals'>> {
    const counts = await accounts.countsOfDays({ instanceId, fromDay: dayOf(from) });
    const today = dayOf(now());
    const refusals = new Map<RefusalKind, RefusalCount>();
    let requestsToday = 0;
    for (const { day, what, count, lastAt } of counts) {
      if (what === 'run') requestsToday += day === today ? count : 0;
      else if (what !== 'unknown-login') {
        const known = refusals.get(what);
        refusals.set(what, { kind: what, count: count + (known?.count ?? 0), lastAt: Math.max(lastAt, known?.lastAt ?? 0) });
      }
    }
    // The latest refusal comes first.
    return { requestsToday, refusals: [...refusals.values()].sort((a, b) => b.lastAt - a.lastAt) };
  }

  async function view(instance: QueueInstance, role: Role): Promise<InstanceView> {
    const tokens = RIGHTS[role].includes('use') ? await tokensOf(instance.instanceId) : {};
    const { requestsToday } = await countedSince(instance.instanceId, now());
    return { instance, role, plan: plans.planOf(instance), requestsToday, ...tokens };
  }

  /** Returns null if the account may own another instance. */
  async function full({ user }: Principal, accountId: string) {
    const most = Math.min(LIMITS.maxInstances, await options.limitOf('maxInstances', accountId, user.userId));
    const owned = await accounts.instancesOf({ accountIds: [accountId] });
    return owned.length < most ? null : refuse('conflict', `this account can own at most ${most} queue instances (maxInstances)`);
  }

  const newTokens = (instanceId: string): readonly TokenRecord[] => [
    authority.newToken({ instanceId, access: 'read-write' }),
    authority.newToken({ instanceId, access: 'read-only' }),
  ];

  const change: ChangeInstance = async (principal, instanceId, made, entry) => {
    const audit = rules.audit(principal, { ...entry, subject: instanceId });
    const changed = await accounts.changeInstance({ instanceId, change: made, audit });
    await options.instanceChanged(instanceId);
    return changed ? done(null) : notFound(INSTANCE);
  };

  return {
    ...createOutboundRules({ rules, find, change, isOperator: options.isOperator }),
    plans: () => plans.all,

    async listInstances(principal) {
      const roles = new Map((await accountsOf(principal)).map(({ accountId, role }) => [accountId, role]));
      const views: InstanceView[] = [];
      for (const instance of await accounts.instancesOf({ accountIds: [...roles.keys()] })) {
        const role = instance.accountId === undefined ? undefined : roles.get(instance.accountId);
        if (role && RIGHTS[role].includes('see')) views.push(await view(instance, role));
      }
      return views;
    },

    async findInstance(principal, instanceId) {
      const seen = await find(principal, instanceId, 'see');
      return seen.kind === 'seen' ? done(await view(seen.instance, seen.role)) : seen;
    },

    async accessTo(principal, instanceId) {
      const seen = await find(principal, instanceId, 'see');
      if (seen.kind !== 'seen') return seen;
      const access = RIGHTS[seen.role].includes('use') ? 'read-write' : 'read-only';
      return done({ instance: seen.instance, access });
    },

    createInstance: (principal, { name, region, teamId }) =>
      rules.inTurn(async () => {
        if (!REGIONS.some((each) => each === region)) return refuse('invalid', `region must be one of ${REGIONS.join(', ')}`);
        const accountId = teamId ?? principal.user.userId;
        const allowed = await rules.allowed(principal, accountId, 'change', 'team');
        if (allowed.kind !== 'allowed') return allowed;
        const tooMany = await full(principal, accountId);
        if (tooMany) return tooMany;
        const isOperator = await options.isOperator(principal.user.userId);
        const plan = isOperator ? plans.planOf({}) : plans.ofNewInstances;
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
        await options.instanceChanged(instanceId);
        return done(await view(instance, allowed.role));
      }, [teamId ?? principal.user.userId]),

    rotateTokens: (principal, instanceId) =>
      rules.inTurnOfInstance(instanceId, async () => {
        const seen = await find(principal, instanceId, 'change');
        if (seen.kind !== 'seen') return seen;
        const entry = { action: 'queue.rotate-token', subject: instanceId, accountIds: [seen.owner] };
        const audit = rules.audit(principal, entry);
        const tokens = newTokens(instanceId);
        authority.revoked(instanceId, await accounts.replaceTokens({ instanceId, tokens, at: now(), audit }));
        return done(await view(seen.instance, seen.role));
      }),

    moveToTeam: (principal, { instanceId, teamId }) =>
      rules.inTurn(async () => {
        const seen = await find(principal, instanceId, 'give-away');
        if (seen.kind !== 'seen') return seen;
        // Checks only the format of the ID, so that it does not reveal whether the account exists.
        if (PERSONAL_ID.test(teamId) || teamId === principal.user.userId)
          return refuse(
            'invalid',
            'body.target_team_id is the ID of a personal account; moving to a personal account is not supported',
          );
        if (!(await accounts.findTeam({ teamId }))) return notFound('team');
        const allowed = await rules.allowed(principal, teamId, 'change', 'team');
        if (allowed.kind !== 'allowed') return allowed;
        if (seen.owner === teamId) return done(null);
        const tooMany = await full(principal, teamId);
        if (tooMany) return tooMany;
        const details = { from: seen.owner, to: teamId };
        const entry = { action: 'queue.move-to-team', details, accountIds: [seen.owner, teamId] };
        return change(principal, instanceId, { accountId: teamId }, entry);
      }),

    setBudget: (principal, { instanceId, dollars }) =>
      rules.inTurnOfInstance(instanceId, async () => {
        const seen = await find(principal, instanceId, 'pay');
        if (seen.kind !== 'seen') return seen;
        const { minBudgetDollars, maxBudgetDollars } = LIMITS;
        const isBudget =
          Number.isInteger(dollars) && (dollars === 0 || (dollars >= minBudgetDollars && dollars <= maxBudgetDollars));
        if (!isBudget)
          return refuse(
            'invalid',
            `body.budget must be 0 (no limit) or a whole number from ${minBudgetDollars} to ${maxBudgetDollars} dollars, not ${dollars}`,
          );
        const details = { from: seen.instance.budgetDollars ?? 0, to: dollars };
        const entry = { action: 'queue.update-budget', details, accountIds: [seen.owner] };
        // Replaces -0.
        return change(principal, instanceId, { budgetDollars: dollars === 0 ? 0 : dollars }, entry);
      }),

    setBudgetAlert: (principal, { instanceId, url }) =>
      rules.inTurnOfInstance(instanceId, async () => {
        const seen = await find(principal, instanceId, 'pay');
        if (seen.kind !== 'seen') return seen;
        if (url !== null && !URL.canParse(url)) return refuse('invalid', 'body.url must be an absolute http or https URL');
        // Paths and queries of such URLs often contain secrets, so only the host is logged.
        const details = { host: url === null ? null : new URL(url).host };
        const entry = { action: 'queue.set-budget-alert', details, accountIds: [seen.owner] };
        return change(principal, instanceId, { budgetAlertUrl: url }, entry);
      }),

    setPlan: (principal, { instanceId, plan }) =>
      rules.inTurnOfInstance(instanceId, async () => {
        const isOperator = await options.isOperator(principal.user.userId);
        const seen = await find(principal, instanceId, 'see');
        if (seen.kind !== 'seen' && !isOperator) return seen;
        if (!isOperator) return refuse('forbidden', 'only an operator of this installation can set plans');
        const instance = await accounts.findInstance({ instanceId });
        if (!instance) return notFound(INSTANCE);
        const found = plans.find(plan);
        const names = plans.all.map(({ name }) => name);
        if (!found) return refuse('invalid', `body.plan_name must be one of ${names.join(', ')}`);
        const details = { from: plans.planOf(instance).name, to: plan };
        const accountIds = [...new Set([instance.accountId ?? principal.user.userId, principal.user.userId])];
        // Usage already counted keeps its price.
        const made = { plan, price: found.pricePer100kMessages };
        return change(principal, instanceId, made, { action: 'queue.set-plan', details, accountIds });
      }),

    async stats(principal, { instanceId, periodMs }) {
      const seen = await find(principal, instanceId, 'see');
      if (seen.kind !== 'seen') return seen;
      const { instance, owner } = seen;
      const { pricePer100kMessages } = plans.planOf(instance);
      const at = now();
      const months = monthsBetween(at - periodMs, at);
      const usage = await accounts.usage({ instanceId, fromMonth: months.at(-1) ?? monthOf(at) });
      const usageOf = (month: string) => usage.filter((record) => record.month === month && record.accountId === owner);
      const points = months.map((month) => {
        const billed = usageOf(month);
        const messages = billed.reduce((sum, record) => sum + record.messages, 0);
        return { month, messages, dollars: costOf(billed, pricePer100kMessages) };
      });
      const budgetDollars = instance.budgetDollars ?? 0;
      const spentDollars = costOf(usageOf(monthOf(at)), pricePer100kMessages);
      const refused = await options.refusedNow(instanceId);
      const counted = await countedSince(instanceId, at - periodMs);
      const storage = (await options.storage(instanceId)) ?? NOTHING_STORED;
      return done({ storage, months: points, budgetDollars, spentDollars, refused, ...counted });
    },

    async usage(principal, { instanceId, days }) {
      const seen = await find(principal, instanceId, 'see');
      if (seen.kind !== 'seen') return seen;
      const { instance, owner } = seen;
      const price = plans.planOf(instance).pricePer100kMessages;
      return done(await dailyUsage(accounts, { instance, owner, days, now: now(), price }));
    },
  };
}
