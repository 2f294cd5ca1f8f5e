/** Repairs as they are kept, with somebody who is told when one of them changes. */
import type { RepairStore } from '../../ports/repair-store.js';

export function toldRepairs(repairs: RepairStore, changed: (instanceId: string) => void): RepairStore {
  return {
    async create(query) {
      await repairs.create(query);
      changed(query.record.repair.instanceId);
    },
    async put(query) {
      const isWritten = await repairs.put(query);
      if (isWritten) changed(query.record.repair.instanceId);
      return isWritten;
    },
    async settle(query) {
      const settled = await repairs.settle(query);
      if (settled.length > 0) changed(query.instanceId);
      return settled;
    },
    find: (query) => repairs.find(query),
    list: (query) => repairs.list(query),
    due: (query) => repairs.due(query),
    nextAt: (query) => repairs.nextAt(query),
    describe: (query) => repairs.describe(query),
    lanes: (query) => repairs.lanes(query),
    pending: (query) => repairs.pending(query),
    counts: (query) => repairs.counts(query),
    endedItems: (query) => repairs.endedItems(query),
    items: (query) => repairs.items(query),
    removeBefore: (query) => repairs.removeBefore(query),
  };
}
