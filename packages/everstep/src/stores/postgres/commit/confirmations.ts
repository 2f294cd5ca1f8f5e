/** Waits until other nodes confirm a change. A node can stop or pause at any time, so the wait is limited. */
import { text } from '../connection/columns.js';
import { type Session, statement } from '../connection/connection.js';

/** A node that has not confirmed after this time is busy or stopped. */
const MAX_WAIT_MS = 1_000;

const SELECT_OTHER_NODES = statement('SELECT node_id FROM node WHERE node_id <> $1 AND lease_until >= clock_timestamp()');

export async function readOtherNodes(session: Session, nodeId: string): Promise<readonly string[]> {
  return (await session.query(SELECT_OTHER_NODES, [nodeId])).map((row) => text(row, 'node_id'));
}

interface PendingConfirmation {
  readonly missing: Set<string>;
  readonly done: () => void;
}

export class Confirmations {
  private readonly pending = new Map<number, PendingConfirmation>();
  private lastNumber = 0;

  /** `ask` is the number that the nodes return. `confirmed` resolves when all have confirmed, or after the longest wait. */
  request(nodeIds: readonly string[]): { readonly ask: number; readonly confirmed: Promise<void> } {
    const ask = ++this.lastNumber;
    const confirmed = new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.end(ask), MAX_WAIT_MS);
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      this.pending.set(ask, { missing: new Set(nodeIds), done });
    });
    return { ask, confirmed };
  }

  confirm(ask: number, nodeId: string): void {
    const confirmation = this.pending.get(ask);
    confirmation?.missing.delete(nodeId);
    if (confirmation?.missing.size === 0) this.end(ask);
  }

  private end(ask: number): void {
    this.pending.get(ask)?.done();
    this.pending.delete(ask);
  }
}
