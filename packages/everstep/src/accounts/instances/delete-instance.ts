/** Deletes queue instances and lists the ones that are being deleted. */
import { type AccountRules, done, notFound, refuse } from '../account-rules.js';
import { type AccountService, PERMISSIONS, type Plan } from '../account-service.js';
import { findVisibleInstance, QUEUE_INSTANCE } from './visible-instance.js';

type DeletionPart = Pick<AccountService, 'deleteInstance' | 'listDeletedInstances'>;

export interface DeletionOptions {
  readonly rules: AccountRules;
  readonly isOperator: (userId: string) => Promise<boolean>;
  /** Called after an instance was deleted, and awaited before the response. Nothing is accepted or delivered for it afterward. */
  readonly onInstanceDeleted: (instanceId: string) => unknown;
  readonly accountsOf: AccountService['accountsOf'];
  /** The plan shown for an instance that is being deleted. */
  readonly defaultPlan: Plan;
}

export function createInstanceDeletion({
  rules,
  isOperator,
  onInstanceDeleted,
  accountsOf,
  defaultPlan: plan,
}: DeletionOptions): DeletionPart {
  const { accounts, now } = rules;

  return {
    deleteInstance: (principal, { instanceId, confirm }) =>
      rules.withInstanceLock(principal, instanceId, async () => {
        const { userId } = principal.user;
        const lookup = await findVisibleInstance(rules, principal, instanceId, 'transfer');
        if (lookup.kind !== 'found' && !(await isOperator(userId))) return lookup;
        const instance = await accounts.findInstance({ instanceId });
        if (!instance) return notFound(QUEUE_INSTANCE);
        if (confirm !== instance.name)
          return refuse('conflict', 'the query parameter "confirm" must be the name of the queue instance');
        const { name, region, accountId } = instance;
        const accountIds = [...new Set([...(accountId === undefined ? [] : [accountId]), userId])];
        const change = { action: 'queue.delete', subject: instanceId, details: { name, region }, accountIds };
        await accounts.deleteInstance({ instanceId, at: now(), audit: rules.audit(principal, change) });
        await onInstanceDeleted(instanceId);
        return done(null);
      }),

    async listDeletedInstances(principal) {
      const roles = new Map((await accountsOf(principal)).map(({ accountId, role }) => [accountId, role]));
      return (await accounts.listDeletedInstances()).flatMap((deleted) => {
        const role = deleted.accountId === null ? undefined : roles.get(deleted.accountId);
        return role && PERMISSIONS[role].includes('see') && deleted.emptiedAt === null ? [{ deleted, role, plan }] : [];
      });
    },
  };
}
