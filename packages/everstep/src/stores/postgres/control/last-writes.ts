/** Sends the writes of a batch to tables that are rarely written, with one statement for each row. */
import type { Procedure } from '../../shared/sql/procedure.js';
import type { TransactionSession } from '../connection/connection.js';
import { sendProcedure } from '../connection/sql-session.js';

interface InstanceWrite {
  readonly instanceId: string;
}
/** Returns the procedure of a write. */
type ProcedureOf<Write> = (write: Write) => Procedure<void>;
/** Identifies the row of a write within its instance. */
type KeyOf<Write> = (write: Write) => string;

/**
 * Returns a function that sends all writes to each row, in order, without waiting. Rows are written in a fixed order, so that two
 * batches never deadlock.
 */
export const sendAllWrites =
  <Write extends InstanceWrite>(procedureOf: ProcedureOf<Write>, keyOf: KeyOf<Write>) =>
  (session: TransactionSession, writes: readonly Write[]): void => {
    const keyedWrites = writes.map((write) => ({ write, row: `${write.instanceId}\n${keyOf(write)}` }));
    const sortedWrites = keyedWrites.toSorted((a, b) => (a.row === b.row ? 0 : a.row < b.row ? -1 : 1));
    for (const { write } of sortedWrites) sendProcedure(session, procedureOf(write));
  };

/** Returns a function that does the same with the last write to each row. */
export const sendLastWrites = <Write extends InstanceWrite>(procedureOf: ProcedureOf<Write>, keyOf: KeyOf<Write>) => {
  const send = sendAllWrites(procedureOf, keyOf);
  return (session: TransactionSession, writes: readonly Write[]): void => {
    const lastWrites = new Map(writes.map((write) => [`${write.instanceId}\n${keyOf(write)}`, write]));
    send(session, [...lastWrites.values()]);
  };
};
