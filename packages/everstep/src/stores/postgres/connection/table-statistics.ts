/**
 * Keeps the server's statistics close to tables that grow fast. A new database has none, and a plan made without them may scan all
 * rows of an instance instead of one. The server's own autovacuum runs once a minute, which is late for a table that has grown from
 * nothing to a hundred thousand rows.
 */
import { text } from './columns.js';
import { type Database, planned, statement } from './connection.js';

/** Number of writes until the tables are checked for the first time. It doubles each time. */
const FIRST_LOOK = 200;
const MOST_BETWEEN_LOOKS = 1_000_000;

/** Selects tables that are more than twice as large as when they were last analyzed. */
const GROWN = statement(`
  SELECT quote_ident(relname) AS name FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    AND pg_relation_size(oid) > current_setting('block_size')::bigint * (2 * relpages + 4)`);

export class TableStatistics {
  private readonly database: Database;
  private written = 0;
  private lookAt = FIRST_LOOK;
  private looking = false;

  constructor(database: Database) {
    this.database = database;
  }

  /** Notes the number of writes of a commit. Never throws; no caller waits for the work that it starts. */
  noteWrites(count: number): void {
    this.written += count;
    if (this.written < this.lookAt || this.looking) return;
    this.looking = true;
    // A failure is retried later; until then only plans are worse.
    this.look()
      .catch(() => undefined)
      .finally(() => {
        this.looking = false;
        this.lookAt = this.written + Math.min(this.written, MOST_BETWEEN_LOOKS);
      });
  }

  private async look(): Promise<void> {
    const grown = await this.database.query(GROWN);
    if (grown.length > 0) await this.database.execute(planned(`ANALYZE ${grown.map((row) => text(row, 'name')).join(', ')}`));
  }
}
