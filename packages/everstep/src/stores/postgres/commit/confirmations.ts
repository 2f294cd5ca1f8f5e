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
  readonly missingNodeIds: Set<string>;
  /** Stops waiting. */
  readonly end: () => void;
}

export class Confirmations {
  private readonly pendingConfirmations = new Map<number, PendingConfirmation>();
  private lastNumber = 0;

  /**
   * Starts to wait for confirmations. The nodes confirm with `requestNumber`. `confirmed` resolves when all of them have
   * confirmed, or after the maximum wait.
   */
  request(nodeIds: readonly string[]): { readonly requestNumber: number; readonly confirmed: Promise<void> } {
    const requestNumber = ++this.lastNumber;
    const confirmed = new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.end(requestNumber), MAX_WAIT_MS);
      const end = () => {
        clearTimeout(timer);
        resolve();
      };
      this.pendingConfirmations.set(requestNumber, { missingNodeIds: new Set(nodeIds), end });
    });
    return { requestNumber, confirmed };
  }

  confirm(requestNumber: number, nodeId: string): void {
    const confirmation = this.pendingConfirmations.get(requestNumber);
    confirmation?.missingNodeIds.delete(nodeId);
    if (confirmation?.missingNodeIds.size === 0) this.end(requestNumber);
  }

  private end(requestNumber: number): void {
    this.pendingConfirmations.get(requestNumber)?.end();
    this.pendingConfirmations.delete(requestNumber);
  }
}
