/** Accounts and their instances in tests: `a` owns `a1`, `a2` and so on. */
import type { InstanceOwners } from '../ports/stores/instance-owners.js';

export const ownersOf = (...instanceIds: readonly string[]): InstanceOwners => {
  const accountOf = (instanceId: string): string => instanceId.replace(/\d+$/, '');
  return {
    accountOf,
    isShared: new Set(instanceIds.map(accountOf)).size > 1,
    othersAreActive: (instanceId) => instanceIds.some((other) => accountOf(other) !== accountOf(instanceId)),
    hasSeveralInstances: (accountId) => instanceIds.filter((instanceId) => accountOf(instanceId) === accountId).length > 1,
  };
};
