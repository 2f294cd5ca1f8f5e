/** Runs work that only one process on a schema may do at a time. Other processes wait or skip the work. Keeps invariant 37. */
import type pg from 'pg';
import type { Database } from '../connection/connection.js';

/** Maximum wait for a lock, shorter than the client's timeout for a response. */
const MAX_WAIT = '40s';
const LOCK_TIMEOUT = '55P03';
const LOCK_KEY = `hashtextextended(current_schema() || ' everstep ' || $1, 0)`;

/** Takes the lock. Rejects if another process holds it for too long. The lock ends with the connection, even after a crash. */
async function lock(client: pg.ClientBase, name: string, mode: '' | '_shared' = ''): Promise<void> {
  await client.query(`SET statement_timeout = 0; SET lock_timeout = '${MAX_WAIT}'`);
  try {
    await client.query(`SELECT pg_advisory_lock${mode}(${LOCK_KEY})`, [name]);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code !== LOCK_TIMEOUT) throw error;
    throw new Error(`another process has held the lock "${name}" of this database for more than ${MAX_WAIT}; try again later`, {
      cause: error,
    });
  }
}

export class ExclusiveWork {
  private readonly database: Database;
  private freeConnections: number;
  private readonly waiters: (() => void)[] = [];

  /** `maxConnections` connections at most hold or wait for a lock, so that enough others remain for the work itself. */
  constructor(database: Database, maxConnections: number) {
    this.database = database;
    this.freeConnections = maxConnections;
  }

  /** Runs `work` exclusively. `name` identifies the work, also in error messages. Must not be called from within such work. */
  run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    return this.withLimitedConnection(async (client) => {
      await lock(client, name);
      return work();
    });
  }

  /**
   * Like `run`, but only work with the same name on one of these ids is excluded; null means all ids. Ids are locked in a fixed
   * order.
   */
  runForIds<Result>(name: string, ids: readonly string[] | null, work: () => Promise<Result>): Promise<Result> {
    if (ids === null) return this.run(name, work);
    return this.withLimitedConnection(async (client) => {
      await lock(client, name, '_shared');
      for (const id of [...new Set(ids)].sort()) await lock(client, `${name} ${id}`);
      return work();
    });
  }

  /** Like `run`, but if the work is already in progress, does nothing and resolves with false. */
  tryExclusively(name: string, work: () => Promise<void>): Promise<boolean> {
    return this.withLimitedConnection(async (client) => {
      const { rows } = await client.query(`SELECT pg_try_advisory_lock(${LOCK_KEY}) AS free`, [name]);
      if (rows[0]?.free !== true) return false;
      try {
        await work();
      } finally {
        // The end of the connection also releases the lock, but only some time after this has resolved.
        await client.query(`SELECT pg_advisory_unlock(${LOCK_KEY})`, [name]).catch(() => {});
      }
      return true;
    });
  }

  private async withLimitedConnection<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    if (this.freeConnections > 0) this.freeConnections--;
    else await new Promise<void>((resolve) => this.waiters.push(resolve));
    try {
      return await this.database.withConnection(work);
    } finally {
      const nextWaiter = this.waiters.shift();
      if (nextWaiter) nextWaiter();
      else this.freeConnections++;
    }
  }
}
