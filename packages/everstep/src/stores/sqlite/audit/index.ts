/** The audit log as a whole, in the embedded store. Each change is one durable transaction. */
import type { AuditStore } from '../../../ports/stores/audit-store.js';
import { write } from '../accounts/account-change.js';
import type { Connection } from '../connection/connection.js';
import { AuditChain } from './audit-chain.js';

export function createAuditStore(connection: Connection): AuditStore {
  const chain = new AuditChain(connection);

  async function change<Result>(work: () => Result): Promise<Result> {
    const result = write(connection, work);
    await connection.durable();
    return result;
  }

  return {
    seal: ({ limit }) => change(() => chain.seal(limit)),
    chained: async (query) => chain.chained(query),
    links: async ({ after, limit }) => chain.links(after, limit),
    anchor: async () => chain.anchor(),
    head: async () => chain.head(),
    removeBefore: ({ before, limit }) => change(() => chain.removeBefore(before, limit)),
    claimPush: ({ now, until }) => change(() => chain.claimPush(now, until)),
    movePush: ({ seq, until }) => change(() => chain.movePush(seq, until)),
  };
}
