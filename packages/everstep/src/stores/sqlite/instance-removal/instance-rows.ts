/** Removes rows of a deleted queue instance, a few in each transaction. */
import type { StatementSync } from 'node:sqlite';
import { STATUSES } from '../../records/run-rows.js';
import { integer, integerOrNull, text } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';
import { forgetCachedState, type StoreParts } from '../connection/store-parts.js';
import type { Transaction } from '../connection/transaction.js';
import type { DeadLetterWriter } from '../dead-letters/dead-letter-writer.js';
import { BLOCK_SIZE } from '../listing/facets/block-set.js';
import { FACET, stateValues } from '../listing/facets/facets.js';
import { RunRemover } from '../runs/run-remover.js';
import { TABLES_OF_INSTANCE, TABLES_OF_REPAIR, TABLES_OF_TENANT } from './tables.js';

/** Prepares the deletion of up to a number of rows by a column. It uses the primary key, because not all tables have row ids. */
function deletion(connection: Connection, table: string, column: string): StatementSync {
  const columns = connection.prepare(`PRAGMA table_info(${table})`).all();
  const key = columns
    .filter((row) => integer(row, 'pk') > 0)
    .sort((a, b) => integer(a, 'pk') - integer(b, 'pk'))
    .map((row) => text(row, 'name'))
    .join(', ');
  return connection.prepare(`DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${column} = ? LIMIT ?)`);
}

/**
 * Returns the function that removes rows of an instance. Its many statements are prepared at the first removal, because most
 * processes never remove an instance.
 */
export function createInstanceRemoval(
  parts: StoreParts,
  transaction: Transaction,
  deadLetters: DeadLetterWriter,
): (query: { readonly instanceId: string; readonly limit: number }) => Promise<number> {
  let instanceRows: InstanceRows | undefined;
  return (query) => {
    instanceRows ??= new InstanceRows(parts, transaction, deadLetters);
    return instanceRows.remove(query);
  };
}

class InstanceRows {
  private readonly parts: StoreParts;
  private readonly transaction: Transaction;
  private readonly deadLetters: DeadLetterWriter;
  private readonly runs: RunRemover;
  private readonly selectRuns: StatementSync;
  private readonly selectRepairs: StatementSync;
  private readonly deletionsByRepair: readonly StatementSync[];
  private readonly deletionsByTenant: readonly StatementSync[];
  private readonly deletionsByInstance: readonly StatementSync[];

  constructor(parts: StoreParts, transaction: Transaction, deadLetters: DeadLetterWriter) {
    const { connection } = parts;
    this.parts = parts;
    this.transaction = transaction;
    this.deadLetters = deadLetters;
    this.runs = new RunRemover(parts);
    this.selectRuns = connection.prepare(
      'SELECT seq, dead_letter_seq FROM run WHERE seq BETWEEN ? AND ? AND tenant = ? ORDER BY seq LIMIT ?',
    );
    this.selectRepairs = connection.prepare('SELECT seq FROM repair WHERE tenant = ? LIMIT ?');
    this.deletionsByRepair = TABLES_OF_REPAIR.map((table) => deletion(connection, table, 'repair_seq'));
    this.deletionsByTenant = TABLES_OF_TENANT.map((table) => deletion(connection, table, 'tenant'));
    this.deletionsByInstance = TABLES_OF_INSTANCE.map((table) => deletion(connection, table, 'instance_id'));
  }

  /** Removes about `limit` rows, or more if a single run has more. Returns their number; 0 only if none are left. */
  async remove({ instanceId, limit }: { readonly instanceId: string; readonly limit: number }): Promise<number> {
    const tenant = this.parts.tenants.find(instanceId);
    let removedCount = tenant === null ? 0 : this.transaction.run(() => this.removeRuns(instanceId, tenant, limit));
    if (removedCount === 0) {
      removedCount = this.transaction.run(() => this.removeOtherRows(instanceId, tenant, limit));
      // The cached data of these rows is no longer valid.
      if (removedCount > 0) forgetCachedState(this.parts);
    }
    if (removedCount > 0) await this.parts.connection.waitUntilDurable();
    return removedCount;
  }

  /** Removes runs from the blocks in which, according to the facet index, the instance has runs. */
  private removeRuns(instanceId: string, tenant: number, limit: number): number {
    const members = this.parts.facetReader.anyOf(tenant, FACET.runStatus, stateValues(undefined, STATUSES), 'up');
    let removedCount = 0;
    for (let block = members.seek(0); block !== null && removedCount < limit; block = members.seek(block + 1)) {
      const first = block * BLOCK_SIZE;
      for (const row of this.selectRuns.all(first, first + BLOCK_SIZE - 1, tenant, limit)) {
        const entrySeq = integerOrNull(row, 'dead_letter_seq');
        if (entrySeq !== null) this.deadLetters.remove(instanceId, tenant, entrySeq);
        removedCount += this.runs.remove(tenant, integer(row, 'seq'), 'active-too');
        if (removedCount >= limit) return removedCount;
      }
    }
    return removedCount;
  }

  private removeOtherRows(instanceId: string, tenant: number | null, limit: number): number {
    // Sums that are added to the tables later would stay in them.
    this.parts.sums.settle();
    let removedCount = 0;
    const remove = (statements: readonly StatementSync[], value: number | string): void => {
      for (const statement of statements)
        if (removedCount < limit) removedCount += Number(statement.run(value, limit - removedCount).changes);
    };
    if (tenant !== null) {
      for (const row of this.selectRepairs.all(tenant, limit)) remove(this.deletionsByRepair, integer(row, 'seq'));
      if (removedCount < limit) remove(this.deletionsByTenant, tenant);
    }
    remove(this.deletionsByInstance, instanceId);
    return removedCount;
  }
}
