/** The users who have access to an instance. */
import type { AccountStore } from '../../ports/stores/account-store.js';

/** Returns the emails of the users who can log in and see the instance, sorted. Empty if the instance has no owner. */
export async function usersOf(accounts: AccountStore, instanceId: string): Promise<readonly string[]> {
  const owner = (await accounts.findInstance({ instanceId }))?.accountId;
  if (owner === undefined) return [];
  const members = await accounts.listMembers({ teamId: owner });
  const userIds = members.length > 0 ? members.map(({ userId }) => userId) : [owner];
  const users = await Promise.all(userIds.map((userId) => accounts.findUser({ userId })));
  return users.flatMap((user) => (user && user.disabledAt === undefined ? [user.email] : [])).sort();
}
