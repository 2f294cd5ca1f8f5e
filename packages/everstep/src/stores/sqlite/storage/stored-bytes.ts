/** What the data of each instance counts: summed in memory over a batch and written once for each instance when the batch is. */
import type { StatementSync } from 'node:sqlite';
import { type InstanceStorage, STORED_TABLES_OF_RUN, storedSql } from '../../../ports/stored-bytes.js';
import { integer, text, textOrNull } from '../columns.js';
import type { Connection } from '../connection.js';

const ofTable = (table: (typeof STORED_TABLES_OF_RUN)[number]): string =>
  `(SELECT coalesce(sum(${storedSql(table, 't')}), 0) FROM ${table} t WHERE t.run_seq = r.seq)`;
/** SQL: what the run `r` counts with all that belongs to it, its entry in the DLQ left out. */
export const RUN_BYTES = [
  'coalesce(octet_length(r.result), 0)',
  ...STORED_TABLES_OF_RUN.filter((table) => table !== 'dead_letter').map(ofTable),
].join(' + ');

export class StoredBytes {
  private readonly upsert: StatementSync;
  private readonly selectOfAccount: StatementSync;
  private readonly unwritten = new Map<number, number>();

  constructor(connection: Connection) {
    this.upsert = connection.prepare(
      'INSERT INTO stored_bytes (tenant, bytes) VALUES (?, ?) ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes',
    );
    this.selectOfAccount = connection.prepare(
      `SELECT q.instance_id, q.plan, coalesce(
         (SELECT s.bytes FROM tenant t JOIN stored_bytes s ON s.tenant = t.seq WHERE t.instance_id = q.instance_id), 0) AS bytes
       FROM queue_instance q WHERE q.account_id = ? ORDER BY q.seq`,
    );
  }

  /** Only inside a transaction, whose end writes it. */
  add(tenant: number, bytes: number): void {
    if (bytes !== 0) this.unwritten.set(tenant, bytes + (this.unwritten.get(tenant) ?? 0));
  }

  flush(): void {
    for (const [tenant, bytes] of this.unwritten) this.upsert.run(tenant, bytes);
    this.unwritten.clear();
  }

  /** Drops what a rollback undid. */
  forget(): void {
    this.unwritten.clear();
  }

  /** Of each instance of the account, by creation. */
  ofAccount(accountId: string): readonly InstanceStorage[] {
    return this.selectOfAccount.all(accountId).map((row) => ({
      instanceId: text(row, 'instance_id'),
      plan: textOrNull(row, 'plan'),
      bytes: integer(row, 'bytes'),
    }));
  }
}
