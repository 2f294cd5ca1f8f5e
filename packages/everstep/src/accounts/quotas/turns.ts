/** Changes of one account come one after the other; changes of different accounts do not wait for each other. */

export class Turns {
  /** The latest change of each account that has one under way. */
  private readonly latest = new Map<string, Promise<unknown>>();
  /** The latest change of all accounts. */
  private latestOfAll: Promise<unknown> = Promise.resolve();

  /** Starts when every earlier change of one of these accounts has ended; null: of all accounts. */
  take<Value>(accountIds: readonly string[] | null, change: () => Promise<Value>): Promise<Value> {
    const earlier =
      accountIds === null ? [...this.latest.values()] : accountIds.flatMap((accountId) => this.latest.get(accountId) ?? []);
    const turn = Promise.all([this.latestOfAll, ...earlier]).then(change);
    // A failure is reported to the caller; the next change starts all the same.
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
