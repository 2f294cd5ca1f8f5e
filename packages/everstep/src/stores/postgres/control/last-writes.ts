/** Writes of a batch to rows that are written rarely, with one statement for each row. */
import type { Procedure } from '../../shared/sql/procedure.js';
import type { TransactionSession } from '../connection/connection.js';
import { sendProcedure } from '../connection/sql-session.js';

/**
 * Sends, without waiting, the last write of each row. `keyOf` names the row within its instance. Rows are written in order,
 * so that two batches never wait for each other.
 */
export const sendLast =
  <Write extends { readonly instanceId: string }>(
    procedureOf: (write: Write) => Procedure<void>,
    keyOf: (write: Write) => string,
  ) =>
  (session: TransactionSession, writes: readonly Write[]): void => {
    const last = new Map(writes.map((write) => [`${write.instanceId}\n${keyOf(write)}`, write]));
    for (const [, write] of [...last].sort(([a], [b]) => (a < b ? -1 : 1))) sendProcedure(session, procedureOf(write));
  };
