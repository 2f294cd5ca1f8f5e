/** Sends the writes of a batch to tables that are rarely written, with one statement for each row. */
import type { Procedure } from '../../shared/sql/procedure.js';
import type { TransactionSession } from '../connection/connection.js';
import { sendProcedure } from '../connection/sql-session.js';

/**
 * Returns a function that sends the last write to each row without waiting. `keyOf` identifies the row within its instance. Rows
 * are written in a fixed order, so that two batches never deadlock.
 */
export const sendLastWrites =
  <Write extends { readonly instanceId: string }>(
    procedureOf: (write: Write) => Procedure<void>,
    keyOf: (write: Write) => string,
  ) =>
  (session: TransactionSession, writes: readonly Write[]): void => {
    const lastWrites = new Map(writes.map((write) => [`${write.instanceId}\n${keyOf(write)}`, write]));
    for (const [, write] of [...lastWrites].sort(([a], [b]) => (a < b ? -1 : 1))) sendProcedure(session, procedureOf(write));
  };
