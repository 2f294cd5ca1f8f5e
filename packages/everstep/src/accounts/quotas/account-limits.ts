/** Limits of plans that hold over everything that an account owns, whichever of its queue instances has the plan. */
import type { AccountStore } from '../../ports/account-store.js';
import type { Plan } from '../account-service.js';
import type { Plans } from '../plans.js';

/** Limits that count what an account has in all. */
export type AccountLimit =
  /** Of its search indexes together. */
  'apiCallsPerSecond' | 'maxStoredBytes' | 'maxActiveRuns' | 'maxInstances' | 'maxSearchIndexes' | 'maxTeams' | 'maxTeamMembers';

/**
 * The limit of an account whose queue instances have these plans: the largest one. An account without instances has that of
 * new instances. Null: no limit.
 */
export function limitOfAccount(
  { ofNewInstances }: Pick<Plans, 'ofNewInstances'>,
  plans: readonly Plan[],
  which: AccountLimit,
): number | null {
  const limits = (plans.length === 0 ? [ofNewInstances] : plans).map((plan) => plan[which]);
  return limits.includes(null) ? null : Math.max(...limits.map(Number));
}

export interface AccountLimitsOptions {
  readonly accounts: Pick<AccountStore, 'instancesOf'>;
  readonly plans: Plans;
  readonly isOperator: (userId: string) => Promise<boolean>;
}

/** How many of something the account may have; `Infinity` when its plans say nothing. The user asks for one more. */
export type LimitOf = (which: AccountLimit, accountId: string, userId: string) => Promise<number>;

export const createLimitOf =
  ({ accounts, plans, isOperator }: AccountLimitsOptions): LimitOf =>
  async (which, accountId, userId) => {
    const instances = await accounts.instancesOf({ accountIds: [accountId] });
    if (instances.length === 0 && (await isOperator(userId))) return Number.POSITIVE_INFINITY;
    const limit = limitOfAccount(
      plans,
      instances.map((instance) => plans.planOf(instance)),
      which,
    );
    return limit ?? Number.POSITIVE_INFINITY;
  };

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Such as `1.5 GiB`. */
export function bytesText(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${Number(size.toFixed(1))} ${UNITS[unit]}`;
}
