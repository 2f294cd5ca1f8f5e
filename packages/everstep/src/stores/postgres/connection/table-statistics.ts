/**
 * Keeps the server's statistics close to tables that grow fast. A new database has none, and a plan made without them may scan all
 * rows of an instance instead of one. The server's own autovacuum runs once a minute, which is late for a table that has grown from
 * nothing to a hundred thousand rows.
 */
import { text } from './columns.js';
import { type Database, statement, unprepared } from './connection.js';

/** Number of writes until the tables are checked for the first time. It doubles each time. */
const WRITES_BEFORE_FIRST_CHECK = 200;
const MAX_WRITES_BETWEEN_CHECKS = 1_000_000;

/** Selects tables that are more than twice as large as when they were last analyzed. */
const GROWN = statement(`
  SELECT quote_ident(relname) AS name FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    AND pg_relation_size(oid) > current_setting('block_size')::bigint * (2 * relpages + 4)`);

export class TableStatistics {
  private readonly database: Database;
  private written = 0;
  private nextCheckAt = WRITES_BEFORE_FIRST_CHECK;
  private checking = false;

  constructor(database: Database) {
    this.database = database;
  }

  /** Notes the number of writes of a commit. Never throws; no caller waits for the work that it starts. */
  noteWrites(count: number): void {
    this.written += count;
    if (this.written < this.nextCheckAt || this.checking) return;
    this.checking = true;
    // A failure is retried later; until then only plans are worse.
    this.checkTables()
      .catch(() => undefined)
      .finally(() => {
        this.checking = false;
        this.nextCheckAt = this.written + Math.min(this.written, MAX_WRITES_BETWEEN_CHECKS);
      });
  }

  private async checkTables(): Promise<void> {
    const grown = await this.database.query(GROWN);
    if (grown.length > 0) await this.database.execute(unprepared(`ANALYZE ${grown.map((row) => text(row, 'name')).join(', ')}`));
  }
}
