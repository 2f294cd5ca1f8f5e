/** Which account owns a queue instance, for fair shares. Answered from memory. */
export interface InstanceOwners {
  /** The account of the instance. An instance whose account is unknown is an account of its own. */
  accountOf(instanceId: string): string;
  /** Whether more than one account owns instances in this installation. */
  readonly isShared: boolean;
  /** Whether the account owns more than one instance. */
  hasSeveralInstances(accountId: string): boolean;
}

/** Everything belongs to one instance, so nothing has to be shared. */
export const ONE_OWNER: InstanceOwners = Object.freeze({
  accountOf: () => '',
  isShared: false,
  hasSeveralInstances: () => false,
});
