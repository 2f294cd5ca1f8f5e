/** An instance that somebody owns, and the role of the caller in that account. */
import type { QueueInstance, Role } from '../ports/account-store.js';
import { type AccountRules, type NotDone, notFound } from './account-rules.js';
import type { Principal, Right } from './account-service.js';

export const INSTANCE = 'queue instance';

export type SeenInstance =
  | { readonly kind: 'seen'; readonly instance: QueueInstance; readonly owner: string; readonly role: Role }
  | NotDone;

/** `not-found` for an id that does not exist and for one that the user may not see. */
export async function seenInstance(
  rules: AccountRules,
  principal: Principal,
  instanceId: string,
  right: Right,
): Promise<SeenInstance> {
  const instance = await rules.accounts.findInstance({ instanceId });
  const owner = instance?.accountId;
  if (!instance || owner === undefined) return notFound(INSTANCE);
  const allowed = await rules.allowed(principal, owner, right, INSTANCE);
  return allowed.kind === 'allowed' ? { kind: 'seen', instance, owner, role: allowed.role } : allowed;
}
