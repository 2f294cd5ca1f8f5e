/** Maps queue instances to the accounts that own them, for fair shares. Uses cached data. */
export interface InstanceOwners {
  /** Returns the account of the instance. An instance with an unknown account counts as a separate account. */
  accountOf(instanceId: string): string;
  /** Whether more than one account owns instances in this installation. */
  readonly isShared: boolean;
  /** Whether another account than that of the instance has used this node in the last seconds. */
  othersAreActive(instanceId: string): boolean;
  /** Whether the account owns more than one instance. */
  hasSeveralInstances(accountId: string): boolean;
}

/** The owners of an installation with a single account, which does not share resources with others. */
export const ONE_OWNER: InstanceOwners = Object.freeze({
  accountOf: () => '',
  isShared: false,
  othersAreActive: () => false,
  hasSeveralInstances: () => false,
});
