/** Short numbers of queue instances, which are part of every key of the facet index. */
import type { StatementSync } from 'node:sqlite';
import { integer } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

export class Tenants {
  private readonly select: StatementSync;
  private readonly insert: StatementSync;
  private readonly known = new Map<string, number>();

  constructor(connection: Connection) {
    this.select = connection.prepare('SELECT seq FROM tenant WHERE instance_id = ?');
    this.insert = connection.prepare('INSERT INTO tenant (instance_id) VALUES (?)');
  }

  /** Returns the number of the instance; null if nothing was ever written for it. */
  find(instanceId: string): number | null {
    const known = this.known.get(instanceId);
    if (known !== undefined) return known;
    const row = this.select.get(instanceId);
    if (!row) return null;
    const seq = integer(row, 'seq');
    this.known.set(instanceId, seq);
    return seq;
  }

  /** Returns the number of the instance, and assigns one if it has none. Requires an open transaction. */
  findOrCreate(instanceId: string): number {
    const found = this.find(instanceId);
    if (found !== null) return found;
    const seq = Number(this.insert.run(instanceId).lastInsertRowid);
    this.known.set(instanceId, seq);
    return seq;
  }

  /** Discards what a rollback may have undone. */
  forget(): void {
    this.known.clear();
  }
}
