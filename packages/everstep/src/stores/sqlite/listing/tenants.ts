/** Assigns short numbers to queue instances, which are part of every key of the facet index. */
import type { StatementSync } from 'node:sqlite';
import { integer } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

export class Tenants {
  private readonly select: StatementSync;
  private readonly insert: StatementSync;
  private readonly numbers = new Map<string, number>();

  constructor(connection: Connection) {
    this.select = connection.prepare('SELECT seq FROM tenant WHERE instance_id = ?');
    this.insert = connection.prepare('INSERT INTO tenant (instance_id) VALUES (?)');
  }

  /** Returns the number of the instance; null if nothing was ever written for it. */
  find(instanceId: string): number | null {
    const cached = this.numbers.get(instanceId);
    if (cached !== undefined) return cached;
    const row = this.select.get(instanceId);
    if (!row) return null;
    const seq = integer(row, 'seq');
    this.numbers.set(instanceId, seq);
    return seq;
  }

  /** Returns the number of the instance, and assigns one if it has none. Requires an open transaction. */
  findOrCreate(instanceId: string): number {
    const existing = this.find(instanceId);
    if (existing !== null) return existing;
    const seq = Number(this.insert.run(instanceId).lastInsertRowid);
    this.numbers.set(instanceId, seq);
    return seq;
  }

  /** Discards state that a rollback may have undone. */
  forget(): void {
    this.numbers.clear();
  }
}
