/** Finds an instance that has an owner, and the role of the caller in the owning account. */
import type { InstanceChange, QueueInstance, Role } from '../../ports/stores/account-store.js';
import { type AccountRules, type Change, notFound, type Refusal } from '../account-rules.js';
import type { Outcome, Principal, Right } from '../account-service.js';

export const INSTANCE = 'queue instance';

export type InstanceLookup =
  | { readonly kind: 'found'; readonly instance: QueueInstance; readonly owner: string; readonly role: Role }
  | Refusal;

export type FindInstance = (principal: Principal, instanceId: string, right: Right) => Promise<InstanceLookup>;
/** Changes the instance after the caller's rights were checked. */
export type ChangeInstance = (
  principal: Principal,
  instanceId: string,
  instanceChange: InstanceChange,
  entry: Omit<Change, 'subject'>,
) => Promise<Outcome<null>>;

/** Returns `not-found` both for an id that does not exist and for one that the user may not see. */
export async function findVisibleInstance(
  rules: AccountRules,
  principal: Principal,
  instanceId: string,
  right: Right,
): Promise<InstanceLookup> {
  const instance = await rules.accounts.findInstance({ instanceId });
  const owner = instance?.accountId;
  if (!instance || owner === undefined) return notFound(INSTANCE);
  const rightCheck = await rules.checkRight(principal, owner, right, INSTANCE);
  return rightCheck.kind === 'allowed' ? { kind: 'found', instance, owner, role: rightCheck.role } : rightCheck;
}
