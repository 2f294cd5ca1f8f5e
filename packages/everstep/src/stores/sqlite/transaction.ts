/** One write to the file: synchronous from the first statement to the last, so that nothing else happens in between. */
import type { StatementSync } from 'node:sqlite';
import { forgetUnwritten, type StoreParts } from './store-parts.js';

export class Transaction {
  private readonly parts: StoreParts;
  private readonly begin: StatementSync;
  private readonly commit: StatementSync;

  constructor(parts: StoreParts) {
    this.parts = parts;
    this.begin = parts.connection.prepare('BEGIN IMMEDIATE');
    this.commit = parts.connection.prepare('COMMIT');
  }

  /** Writes what `work` does, with the index, the counters and the usage that it changed; what it throws undoes all of it. */
  run<Result>(work: () => Result): Result {
    this.begin.run();
    try {
      const result = work();
      this.parts.facets.flush();
      this.parts.counters.flush();
      this.parts.usage.flush();
      this.parts.days.flush();
      this.parts.groups.flush();
      this.parts.connection.countCommit();
      this.commit.run();
      return result;
    } catch (error) {
      forgetUnwritten(this.parts);
      this.rollBack(error);
      throw error;
    }
  }

  private rollBack(cause: unknown): void {
    try {
      this.parts.connection.exec('ROLLBACK');
    } catch (error) {
      // SQLite undoes a transaction itself after some faults (disk full, I/O): then there is none to undo.
      if (!(error instanceof Error) || !error.message.includes('no transaction is active')) {
        throw new AggregateError([cause, error], 'a batch failed and could not be rolled back');
      }
    }
  }
}
