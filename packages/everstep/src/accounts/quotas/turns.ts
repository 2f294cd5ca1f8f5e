/**
 * Runs the changes of one account one at a time. Changes of different accounts do not wait for each other.
 * Keeps invariant 37.
 */

export class Turns {
  /** The latest change of each account with a change in progress. */
  private readonly latest = new Map<string, Promise<unknown>>();
  /** The latest change of all accounts. */
  private latestOfAll: Promise<unknown> = Promise.resolve();

  /** Runs `change` once every earlier change of these accounts has ended. Null means all accounts. */
  take<Value>(accountIds: readonly string[] | null, change: () => Promise<Value>): Promise<Value> {
    const earlier =
      accountIds === null ? [...this.latest.values()] : accountIds.flatMap((accountId) => this.latest.get(accountId) ?? []);
    const turn = Promise.all([this.latestOfAll, ...earlier]).then(change);
    // The caller sees a failure. The next change still starts.
    const ended = turn.catch(() => undefined);
    if (accountIds === null) this.latestOfAll = ended;
    for (const accountId of accountIds ?? []) {
      this.latest.set(accountId, ended);
      void ended.then(() => {
        if (this.latest.get(accountId) === ended) this.latest.delete(accountId);
      });
    }
    return turn;
  }
}
