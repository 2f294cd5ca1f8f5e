/** One write to the file: synchronous from the first statement to the last, so that nothing else happens in between. */
import type { StatementSync } from 'node:sqlite';
import { rollBack } from './connection.js';
import { storeErrorOf } from './errors.js';
import { forgetCachedState, type StoreParts } from './store-parts.js';

export class Transaction {
  private readonly parts: StoreParts;
  private readonly begin: StatementSync;
  private readonly commit: StatementSync;

  constructor(parts: StoreParts) {
    this.parts = parts;
    this.begin = parts.connection.prepare('BEGIN IMMEDIATE');
    this.commit = parts.connection.prepare('COMMIT');
  }

  /** Writes the changes of `work` with the index, counters and sums that they affect. If `work` throws, all is rolled back. */
  run<Result>(work: () => Result): Result {
    try {
      this.begin.run();
    } catch (error) {
      throw storeErrorOf(error, this.parts.connection);
    }
    try {
      const result = work();
      this.parts.facets.flush();
      this.parts.counters.flush();
      this.parts.dayCounts.removeOldDays();
      this.parts.insights.flush();
      this.parts.groups.flush();
      this.parts.sums.countCommit();
      this.commit.run();
      return result;
    } catch (error) {
      forgetCachedState(this.parts);
      rollBack(this.parts.connection, error);
      throw storeErrorOf(error, this.parts.connection);
    }
  }
}
