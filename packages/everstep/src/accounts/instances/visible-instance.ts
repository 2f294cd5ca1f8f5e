/** Finds an instance that has an owner, and the role of the caller in the owning account. */
import type { InstanceChange, QueueInstance, Role } from '../../ports/stores/account-store.js';
import { type AccountRules, type Change, notFound, type Refusal } from '../account-rules.js';
import type { Outcome, Permission, Principal } from '../account-service.js';

export const QUEUE_INSTANCE = 'queue instance';

export type InstanceLookup =
  | { readonly kind: 'found'; readonly instance: QueueInstance; readonly owner: string; readonly role: Role }
  | Refusal;

export type FindInstance = (principal: Principal, instanceId: string, permission: Permission) => Promise<InstanceLookup>;
/** Changes the instance after the caller's permissions were checked. */
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
  permission: Permission,
): Promise<InstanceLookup> {
  const instance = await rules.accounts.findInstance({ instanceId });
  const owner = instance?.accountId;
  if (!instance || owner === undefined) return notFound(QUEUE_INSTANCE);
  const permissionCheck = await rules.checkPermission(principal, owner, permission, QUEUE_INSTANCE);
  return permissionCheck.kind === 'allowed' ? { kind: 'found', instance, owner, role: permissionCheck.role } : permissionCheck;
}
