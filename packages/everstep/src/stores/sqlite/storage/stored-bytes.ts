/** Counts the stored bytes and active runs of each instance. */
import type { StatementSync } from 'node:sqlite';
import { type InstanceTotals, STORED_TABLES_OF_RUN, storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import type { UnsettledSums } from '../commit/unsettled-sums.js';
import { integer, text, textOrNull } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

const bytesOfTable = (table: (typeof STORED_TABLES_OF_RUN)[number]): string =>
  `(SELECT coalesce(sum(${storedBytesSql(table, 't')}), 0) FROM ${table} t WHERE t.run_seq = r.seq)`;
/** SQL: the bytes of the run `r` with everything that belongs to it, except its entry in the DLQ. */
export const RUN_BYTES = [
  'coalesce(octet_length(r.result), 0)',
  ...STORED_TABLES_OF_RUN.filter((table) => table !== 'dead_letter').map(bytesOfTable),
].join(' + ');

export class StoredBytes {
  private readonly sums: UnsettledSums;
  private readonly selectOfAccount: StatementSync;

  constructor(connection: Connection, sums: UnsettledSums) {
    this.sums = sums;
    this.selectOfAccount = connection.prepare(
      `SELECT q.instance_id, q.plan, coalesce(s.bytes, 0) AS bytes, coalesce(s.active_runs, 0) AS active_runs
       FROM queue_instance q LEFT JOIN tenant t ON t.instance_id = q.instance_id LEFT JOIN instance_totals s ON s.tenant = t.seq
       WHERE q.account_id = ? ORDER BY q.seq`,
    );
  }

  /** Adds bytes and active runs, which are written at the end of the transaction. Requires an open transaction. */
  add(tenant: number, bytes: number, activeRuns = 0): void {
    this.sums.add('instance_totals', [tenant], [bytes, activeRuns]);
  }

  /** Returns the totals of each instance of the account, in the order of creation. The sums must be settled. */
  totalsOfAccount(accountId: string): readonly InstanceTotals[] {
    return this.selectOfAccount.all(accountId).map((row) => ({
      instanceId: text(row, 'instance_id'),
      plan: textOrNull(row, 'plan'),
      bytes: integer(row, 'bytes'),
      activeRuns: integer(row, 'active_runs'),
    }));
  }
}
