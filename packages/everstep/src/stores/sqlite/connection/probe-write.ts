/** Checks whether the store accepts writes. */
import { randomBytes } from 'node:crypto';
import type { StatementSync } from 'node:sqlite';
import { PROBE_BYTES } from '../../../ports/stores/store.js';
import { type Connection, transact } from './connection.js';
import { storeErrorOf } from './errors.js';

const PROBE_NAME = 'write-probe';

/** Executes a write. Throws StoreRefusesWritesError if the store does not accept writes. */
function write(connection: Connection, work: () => unknown): void {
  try {
    transact(connection, work);
  } catch (error) {
    throw storeErrorOf(error, connection);
  }
}

export class ProbeWrite {
  private readonly connection: Connection;
  private readonly put: StatementSync;
  private readonly remove: StatementSync;

  constructor(connection: Connection) {
    this.connection = connection;
    this.put = connection.prepare('INSERT OR REPLACE INTO secret (name, value) VALUES (?, ?)');
    this.remove = connection.prepare('DELETE FROM secret WHERE name = ?');
  }

  /** Writes and deletes in two transactions: in a single one, SQLite would not write the freed pages. A crash can leave one row. */
  async write(): Promise<void> {
    const { connection, put, remove } = this;
    write(connection, () => put.run(PROBE_NAME, randomBytes(PROBE_BYTES / 2).toString('hex')));
    write(connection, () => remove.run(PROBE_NAME));
    await connection.waitUntilDurable();
  }
}
