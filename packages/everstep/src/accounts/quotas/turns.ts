/**
 * Runs the changes of one account one at a time. Changes of different accounts do not wait for each other. The changes of the
 * keys of a queue instance have turns of their own, by instance.
 * Keeps invariant 37.
 */

export class Turns {
  /** The latest change of each account with a change in progress. */
  private readonly latestByAccount = new Map<string, Promise<unknown>>();
  /** The latest change that involves all accounts. */
  private latestOfAllAccounts: Promise<unknown> = Promise.resolve();

  /** Runs `change` once every earlier change of these accounts has ended. Null means all accounts. */
  take<Value>(accountIds: readonly string[] | null, change: () => Promise<Value>): Promise<Value> {
    const earlierChanges =
      accountIds === null
        ? [...this.latestByAccount.values()]
        : accountIds.flatMap((accountId) => this.latestByAccount.get(accountId) ?? []);
    const turn = Promise.all([this.latestOfAllAccounts, ...earlierChanges]).then(change);
    // Only the caller gets an error. The next change still starts.
    const turnEnd = turn.catch(() => undefined);
    if (accountIds === null) this.latestOfAllAccounts = turnEnd;
    for (const accountId of accountIds ?? []) {
      this.latestByAccount.set(accountId, turnEnd);
      void turnEnd.then(() => {
        if (this.latestByAccount.get(accountId) === turnEnd) this.latestByAccount.delete(accountId);
      });
    }
    return turn;
  }
}
