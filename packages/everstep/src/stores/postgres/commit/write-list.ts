/** Collects the writes of an aggregate whose writes do not depend on the state of the batch. */
import type { TransactionSession } from '../connection/connection.js';
import type { Applier } from './batch-context.js';

export class WriteList<Write> implements Applier<Write> {
  private readonly sendWrites: (session: TransactionSession, writes: readonly Write[]) => void;
  private readonly onWrite: (write: Write) => void;
  private writes: Write[] = [];

  /** `sendWrites` sends all writes together. `onWrite` is called for each write when it is collected. */
  constructor(
    sendWrites: (session: TransactionSession, writes: readonly Write[]) => void,
    onWrite: (write: Write) => void = () => {},
  ) {
    this.sendWrites = sendWrites;
    this.onWrite = onWrite;
  }

  apply(write: Write): void {
    this.writes.push(write);
    this.onWrite(write);
  }

  send(session: TransactionSession): void {
    if (this.writes.length === 0) return;
    this.sendWrites(session, this.writes);
    this.writes = [];
  }
}
