/**
 * Removes documents of removed namespaces in the background, releases their space, and analyzes tables that have grown.
 */

import { StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { longQuery } from '../connection/client-session.js';
import { integer, textOrNull } from '../connection/columns.js';
import { type Database, statement, unpreparedStatement } from '../connection/connection.js';
import { sqlStateOf } from '../connection/errors.js';
import { createTableSql, findTable, lockCollection, retryOnTableChange, type StoredNamespace, tableName } from './collection.js';
import { estimateRowCount } from './ranked-search.js';

/** Maximum number of documents removed in one transaction. */
const MAX_REMOVED_AT_ONCE = 2000;
/**
 * Maximum number and size of the remaining documents that are copied to a new table. The copy blocks writes to the index for some
 * seconds. If more documents remain, later documents reuse the space.
 */
const MAX_COPIED = 50_000;
const MAX_COPIED_BYTES = 32 * 1024 * 1024;
/** The copy took too long, or writes to the index did not end in time. */
const COPY_TIMEOUTS: readonly (string | null)[] = ['57014', '55P03'];
/** The remaining documents are copied if at least this many documents are gone for each one that remains. */
const MIN_GONE_PER_REMAINING = 3;
/** Number of documents that this process writes to a table before it checks whether the statistics of the table are up to date. */
const CHECK_AFTER_DOCUMENTS = 20_000;

const SELECT_DELETED_NAMESPACES = statement('SELECT number FROM search_namespace WHERE index_id = $1 AND gone ORDER BY number');
const SUM_DOCUMENTS = statement(`
  SELECT coalesce(sum(documents) FILTER (WHERE NOT gone), 0)::bigint AS left,
    coalesce(sum(bytes) FILTER (WHERE NOT gone), 0)::bigint AS left_bytes,
    coalesce(sum(documents) FILTER (WHERE gone), 0)::bigint AS gone
  FROM search_namespace WHERE index_id = $1`);
const RENUMBER = statement('UPDATE search_collection SET number = DEFAULT WHERE index_id = $1 RETURNING number');
const DELETE_NAMESPACES = statement('DELETE FROM search_namespace WHERE gone AND number = ANY ($1::bigint[])');
const DELETE_ALL_NAMESPACES = statement('DELETE FROM search_namespace WHERE index_id = $1');
const DROP = statement(`
  INSERT INTO search_collection (index_id, dropped) VALUES ($1, true)
  ON CONFLICT (index_id) DO UPDATE SET dropped = true RETURNING number`);

export class Cleaner {
  private readonly database: Database;
  private readonly onFailure: (error: Error) => void;
  private readonly removals = new Map<string, Promise<void>>();
  private readonly checks = new Set<Promise<void>>();
  private readonly writtenCounts = new Map<string, number>();
  private isClosed = false;

  constructor(database: Database, onFailure: (error: Error) => void) {
    this.database = database;
    this.onFailure = onFailure;
  }

  /**
   * Removes the documents of namespaces that are marked as gone. Resolves when they are removed or the removal has failed. Callers
   * need not wait.
   */
  clean(indexId: string): Promise<void> {
    const runningRemoval = this.removals.get(indexId);
    // The running removal may have missed namespaces that were marked after it started.
    const removal = (runningRemoval ?? Promise.resolve()).then(() => this.runAndReport(() => this.removeGone(indexId)));
    this.removals.set(indexId, removal);
    return removal.finally(() => {
      if (this.removals.get(indexId) === removal) this.removals.delete(indexId);
    });
  }

  /** Drops the index immediately and releases its space. Writes of documents are rejected from then on. */
  async drop(indexId: string): Promise<void> {
    await this.database.transaction(async (session) => {
      const [row] = await session.query(DROP, [indexId]);
      session.send(DELETE_ALL_NAMESPACES, [indexId]);
      if (row) session.send(unpreparedStatement(`DROP TABLE IF EXISTS ${tableName(integer(row, 'number'))}`));
    });
  }

  /** Counts written documents, and analyzes a table that has grown. The database also does this automatically, but later. */
  recordWritten({ table, documents }: StoredNamespace, count: number): void {
    const writtenCount = (this.writtenCounts.get(table) ?? 0) + count;
    this.writtenCounts.set(table, writtenCount < CHECK_AFTER_DOCUMENTS ? writtenCount : 0);
    if (writtenCount < CHECK_AFTER_DOCUMENTS || this.isClosed) return;
    const check = this.runAndReport(async () => {
      const rows = await estimateRowCount(this.database, table);
      if (rows !== null && rows < documents / 2) await this.maintain(`ANALYZE ${table}`);
    });
    this.checks.add(check);
    void check.finally(() => this.checks.delete(check));
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.removals.values(), ...this.checks]);
  }

  private async runAndReport(work: () => Promise<void>): Promise<void> {
    try {
      await retryOnTableChange(work);
    } catch (error) {
      this.onFailure(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private async removeGone(indexId: string): Promise<void> {
    const table = await findTable(this.database, indexId);
    const namespaces = (await this.database.query(SELECT_DELETED_NAMESPACES, [indexId])).map((row) => integer(row, 'number'));
    if (table === null || namespaces.length === 0 || (await this.tryToCopyRemaining(indexId))) return;
    for (const namespace of namespaces)
      for (let after: string | null = ''; after !== null && !this.isClosed; )
        after = await this.removeNextDocuments(table, namespace, after);
    if (this.isClosed) return;
    await this.database.execute(DELETE_NAMESPACES, [namespaces]);
    // If this fails, autovacuum releases the space later.
    await this.maintain(`VACUUM ${table}`);
  }

  /** Copies the remaining documents to a new table and drops the old one. Returns false if too many remain or it takes too long. */
  private async tryToCopyRemaining(indexId: string): Promise<boolean> {
    try {
      return await this.copyRemaining(indexId);
    } catch (error) {
      if (COPY_TIMEOUTS.includes(sqlStateOf(error instanceof StoreUnavailableError ? error.cause : error))) return false;
      throw error;
    }
  }

  private copyRemaining(indexId: string): Promise<boolean> {
    return this.database.transaction(async (session) => {
      const collection = await lockCollection(session, indexId);
      if (collection === null) return true;
      const namespaces = (await session.query(SELECT_DELETED_NAMESPACES, [indexId])).map((row) => integer(row, 'number'));
      const [sums] = await session.query(SUM_DOCUMENTS, [indexId]);
      if (!sums || namespaces.length === 0) return true;
      const [remainingCount, goneCount] = [integer(sums, 'left'), integer(sums, 'gone')];
      if (remainingCount > MAX_COPIED || integer(sums, 'left_bytes') > MAX_COPIED_BYTES) return false;
      if (goneCount < remainingCount * MIN_GONE_PER_REMAINING) return false;
      const [row] = await session.query(RENUMBER, [indexId]);
      if (!row) throw new Error('the table was not renumbered');
      const [oldTable, newTable] = [tableName(collection), tableName(integer(row, 'number'))];
      for (const sql of createTableSql(newTable)) session.send(unpreparedStatement(sql));
      session.send(
        unpreparedStatement(`INSERT INTO ${newTable} SELECT * FROM ${oldTable} WHERE namespace <> ALL ($1::bigint[])`),
        [namespaces],
      );
      session.send(unpreparedStatement(`DROP TABLE ${oldTable}`));
      session.send(DELETE_NAMESPACES, [namespaces]);
      return true;
    });
  }

  /** Removes the next documents after the id `after`. Returns the id after which there may be more; null if there are none. */
  private async removeNextDocuments(table: string, namespace: number, after: string): Promise<string | null> {
    const [row] = await this.database.query(
      unpreparedStatement(`
        WITH removed AS (
          DELETE FROM ${table} WHERE namespace = $1 AND id IN (
            SELECT id FROM ${table} WHERE namespace = $1 AND id > $2 ORDER BY id LIMIT ${MAX_REMOVED_AT_ONCE}) RETURNING id)
        SELECT max(id) AS last FROM removed`),
      [namespace, after],
    );
    return row ? textOrNull(row, 'last') : null;
  }

  /** Executes a statement that cannot run in a transaction and may take a long time. */
  private maintain(sql: string): Promise<void> {
    return this.database.withConnection(async (client) => {
      await client.query('SET statement_timeout = 0');
      await client.query(longQuery(sql));
    });
  }
}
