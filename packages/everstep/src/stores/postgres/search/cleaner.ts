/**
 * What happens behind the scenes: documents that nobody sees any more are removed, their space is given back, and the server
 * is told to look at a table that has grown.
 */
import { integer } from '../columns.js';
import { type Database, statement } from '../connection.js';
import { findTable, lockCollection, once, type Place, tableOf } from './collection.js';
import { rowsCounted } from './ranked-search.js';

/** In one transaction. */
const REMOVED_AT_ONCE = 2000;
/**
 * A table is written anew when most of it is gone and little is left: nobody gets at it meanwhile, a second or two. Else its
 * space is used again by what comes.
 */
const MOST_REWRITTEN = 50_000;
const GONE_TO_LEFT = 3;
/** So many documents written here, and the table is asked whether the server knows how large it is. */
const LOOKED_AT_AFTER = 20_000;

const GONE = statement('SELECT number FROM search_namespace WHERE index_id = $1 AND gone ORDER BY number');
const LEFT = statement(
  'SELECT coalesce(sum(documents), 0)::bigint AS documents FROM search_namespace WHERE index_id = $1 AND NOT gone',
);
const FORGET = statement('DELETE FROM search_namespace WHERE gone AND number = ANY ($1::bigint[])');
const FORGET_ALL = statement('DELETE FROM search_namespace WHERE index_id = $1');
const DROP = statement(`
  INSERT INTO search_collection (index_id, dropped) VALUES ($1, true)
  ON CONFLICT (index_id) DO UPDATE SET dropped = true RETURNING number`);

export class Cleaner {
  private readonly database: Database;
  private readonly onFailure: (error: Error) => void;
  private readonly cleaning = new Map<string, Promise<void>>();
  private readonly looking = new Set<Promise<void>>();
  private readonly written = new Map<string, number>();
  private closed = false;

  constructor(database: Database, onFailure: (error: Error) => void) {
    this.database = database;
    this.onFailure = onFailure;
  }

  /** Removes what is marked as gone; resolves when nothing of it is left, or when it failed. Need not be waited for. */
  clean(indexId: string): Promise<void> {
    const known = this.cleaning.get(indexId);
    // What was marked meanwhile may have been overlooked.
    const work = (known ?? Promise.resolve()).then(() => this.reported(() => this.removeGone(indexId)));
    this.cleaning.set(indexId, work);
    return work.finally(() => {
      if (this.cleaning.get(indexId) === work) this.cleaning.delete(indexId);
    });
  }

  /** At once, with the space. Documents that are on their way are refused from then on. */
  async drop(indexId: string): Promise<void> {
    await this.database.transaction(async (session) => {
      const [row] = await session.query(DROP, [indexId]);
      session.send(FORGET_ALL, [indexId]);
      if (row) session.send(once(`DROP TABLE IF EXISTS ${tableOf(integer(row, 'number'))}`));
    });
  }

  /** To be told of documents that were written: the server looks at a table by itself, but not at once. */
  grown({ table, documents }: Place, count: number): void {
    const written = (this.written.get(table) ?? 0) + count;
    this.written.set(table, written < LOOKED_AT_AFTER ? written : 0);
    if (written < LOOKED_AT_AFTER || this.closed) return;
    const work = this.reported(async () => {
      if ((await rowsCounted(this.database, table)) < documents / 2) await this.maintain(`ANALYZE ${table}`);
    });
    this.looking.add(work);
    void work.finally(() => this.looking.delete(work));
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.cleaning.values(), ...this.looking]);
  }

  private async reported(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.onFailure(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private async removeGone(indexId: string): Promise<void> {
    const table = await findTable(this.database, indexId);
    const namespaces = (await this.database.query(GONE, [indexId])).map((row) => integer(row, 'number'));
    if (table === null || namespaces.length === 0 || (await this.emptied(indexId))) return;
    let removed = 0;
    for (const namespace of namespaces) {
      for (let after: string | null = ''; after !== null && !this.closed; ) {
        const [last, count] = await this.removeSome(table, namespace, after);
        after = last;
        removed += count;
      }
    }
    if (this.closed) return;
    const left = await this.documentsLeft(indexId);
    const isRewritten = left <= MOST_REWRITTEN && removed > left * GONE_TO_LEFT;
    await this.maintain(isRewritten ? `VACUUM (FULL, ANALYZE) ${table}` : `VACUUM ${table}`);
    await this.database.execute(FORGET, [namespaces]);
  }

  /** Where no document is left, all goes at once. False when some are. */
  private emptied(indexId: string): Promise<boolean> {
    return this.database.transaction(async (session) => {
      const collection = await lockCollection(session, indexId);
      if (collection === null) return true;
      const gone = (await session.query(GONE, [indexId])).map((row) => integer(row, 'number'));
      const [left] = await session.query(LEFT, [indexId]);
      if (!left || integer(left, 'documents') > 0) return false;
      session.send(once(`TRUNCATE ${tableOf(collection)}`));
      session.send(FORGET, [gone]);
      return true;
    });
  }

  /** The id behind which there may be more, or null; and how many were removed. */
  private async removeSome(table: string, namespace: number, after: string): Promise<readonly [string | null, number]> {
    const rows = await this.database.query(
      once(`
        DELETE FROM ${table} WHERE namespace = $1 AND id IN (
          SELECT id FROM ${table} WHERE namespace = $1 AND id > $2 ORDER BY id LIMIT ${REMOVED_AT_ONCE}) RETURNING id`),
      [namespace, after],
    );
    const ids = rows.map(({ id }) => String(id));
    const last = ids.reduce((a, b) => (Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0 ? b : a), after);
    return [rows.length < REMOVED_AT_ONCE ? null : last, rows.length];
  }

  private async documentsLeft(indexId: string): Promise<number> {
    const [row] = await this.database.query(LEFT, [indexId]);
    return row ? integer(row, 'documents') : 0;
  }

  /** What cannot be done in a transaction, and may take its time. */
  private maintain(sql: string): Promise<void> {
    return this.database.withConnection(async (client) => {
      await client.query('SET statement_timeout = 0');
      await client.query(sql);
    });
  }
}
