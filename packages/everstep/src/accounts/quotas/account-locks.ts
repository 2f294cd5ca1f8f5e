/**
 * Runs the changes of one account one at a time. Changes of different accounts do not wait for each other. Changes of the keys of
 * a queue instance have separate locks, by instance.
 * Keeps invariant 37.
 */

export class AccountLocks {
  /** The latest change of each account with a change in progress. */
  private readonly latestByAccount = new Map<string, Promise<unknown>>();
  /** The latest change that involves all accounts. */
  private latestOfAllAccounts: Promise<unknown> = Promise.resolve();

  /** Runs `change` once every earlier change of these accounts has ended. Null means all accounts. */
  run<Value>(accountIds: readonly string[] | null, change: () => Promise<Value>): Promise<Value> {
    const earlierChanges =
      accountIds === null
        ? [...this.latestByAccount.values()]
        : accountIds.flatMap((accountId) => this.latestByAccount.get(accountId) ?? []);
    const result = Promise.all([this.latestOfAllAccounts, ...earlierChanges]).then(change);
    // Only the caller gets an error. The next change still starts.
    const ended = result.catch(() => undefined);
    if (accountIds === null) this.latestOfAllAccounts = ended;
    for (const accountId of accountIds ?? []) {
      this.latestByAccount.set(accountId, ended);
      void ended.then(() => {
        if (this.latestByAccount.get(accountId) === ended) this.latestByAccount.delete(accountId);
      });
    }
    return result;
  }
}
