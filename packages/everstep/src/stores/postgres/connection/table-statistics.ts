/**
 * Keeps the server's statistics of fast-growing tables up to date. A new database has no statistics, and a plan without them may
 * scan all rows of an instance instead of one. Autovacuum runs once a minute, which is too late for a table that has grown from
 * nothing to a hundred thousand rows.
 */
import { text } from './columns.js';
import { type Database, statement, unpreparedStatement } from './connection.js';

/** Number of writes before the first check of the tables. The number doubles with each check. */
const WRITES_BEFORE_FIRST_CHECK = 200;
const MAX_WRITES_BETWEEN_CHECKS = 1_000_000;

/** Selects tables that are more than twice as large as when they were last analyzed. */
const SELECT_GROWN_TABLES = statement(`
  SELECT quote_ident(relname) AS name FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    AND pg_relation_size(oid) > current_setting('block_size')::bigint * (2 * relpages + 4)`);

export class TableStatistics {
  private readonly database: Database;
  private writeCount = 0;
  /** Number of writes at which the tables are checked next. */
  private nextCheckCount = WRITES_BEFORE_FIRST_CHECK;
  private isChecking = false;

  constructor(database: Database) {
    this.database = database;
  }

  /** Counts the writes of a commit, and checks the tables if it is time. Never throws; no caller waits for the check. */
  recordWrites(count: number): void {
    this.writeCount += count;
    if (this.writeCount < this.nextCheckCount || this.isChecking) return;
    this.isChecking = true;
    // A failed check is repeated later. Until then, only plans are worse.
    this.checkTables()
      .catch(() => undefined)
      .finally(() => {
        this.isChecking = false;
        this.nextCheckCount = this.writeCount + Math.min(this.writeCount, MAX_WRITES_BETWEEN_CHECKS);
      });
  }

  private async checkTables(): Promise<void> {
    const grownTables = await this.database.query(SELECT_GROWN_TABLES);
    if (grownTables.length > 0)
      await this.database.execute(unpreparedStatement(`ANALYZE ${grownTables.map((row) => text(row, 'name')).join(', ')}`));
  }
}
