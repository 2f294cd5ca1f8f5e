/** Plan limits that apply to everything an account owns, whichever of its queue instances has the plan. */
import type { AccountStore } from '../../ports/stores/account-store.js';
import type { Plan } from '../account-service.js';
import type { Plans } from '../plans/plans.js';

/** Limits for a whole account. All search indexes of the account share `apiCallsPerSecond`. */
export type AccountLimit =
  | 'apiCallsPerSecond'
  | 'maxStoredBytes'
  | 'maxActiveRuns'
  | 'maxInstances'
  | 'maxSearchIndexes'
  | 'maxTeams'
  | 'maxTeamMembers';

/** Returns the largest limit of these plans, or the limit for new instances if there are no plans. Null means no limit. */
export function largestLimit(
  { planForNewInstances }: Pick<Plans, 'planForNewInstances'>,
  plans: readonly Plan[],
  limitName: AccountLimit,
): number | null {
  const limits = (plans.length === 0 ? [planForNewInstances] : plans).map((plan) => plan[limitName]);
  return limits.includes(null) ? null : Math.max(...limits.map(Number));
}

export interface AccountLimitsOptions {
  readonly accounts: Pick<AccountStore, 'instancesOf'>;
  readonly plans: Plans;
  readonly isOperator: (userId: string) => Promise<boolean>;
}

/** Returns the account's limit, or `Infinity` if its plans have none. `userId` is the user who wants to create something. */
export type LimitLookup = (limitName: AccountLimit, accountId: string, userId: string) => Promise<number>;

export const createLimitLookup =
  ({ accounts, plans, isOperator }: AccountLimitsOptions): LimitLookup =>
  async (limitName, accountId, userId) => {
    const instances = await accounts.instancesOf({ accountIds: [accountId] });
    if (instances.length === 0 && (await isOperator(userId))) return Number.POSITIVE_INFINITY;
    const limit = largestLimit(
      plans,
      instances.map((instance) => plans.planOf(instance)),
      limitName,
    );
    return limit ?? Number.POSITIVE_INFINITY;
  };

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Returns a human-readable size, for example `1.5 GiB`. */
export function bytesText(bytes: number): string {
  let [size, unitIndex] = [bytes, 0];
  while (size >= 1024 && unitIndex < UNITS.length - 1) {
    size /= 1024;
    unitIndex++;
  }
  return `${Number(size.toFixed(1))} ${UNITS[unitIndex]}`;
}
