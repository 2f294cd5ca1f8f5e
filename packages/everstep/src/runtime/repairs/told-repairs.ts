/** Repairs as they are kept, with somebody who is told when one of them changes. */
import type { RepairRecord, RepairStore } from '../../ports/stores/repair-store.js';

/** Its dead letters say that they are about to go, or do not say so any more. */
const changesEntries = ({ repair: { action, phase, stopReason } }: RepairRecord): boolean =>
  action === 'delete' && (phase === 'undo-window' || stopReason === 'undone');

export function toldRepairs(repairs: RepairStore, changed: (instanceId: string, topic: 'repairs' | 'dlq') => void): RepairStore {
  return {
    async create(query) {
      await repairs.create(query);
      changed(query.record.repair.instanceId, 'repairs');
    },
    async put(query) {
      const isWritten = await repairs.put(query);
      if (isWritten) changed(query.record.repair.instanceId, 'repairs');
      if (isWritten && changesEntries(query.record)) changed(query.record.repair.instanceId, 'dlq');
      return isWritten;
    },
    async settle(query) {
      const settled = await repairs.settle(query);
      if (settled.length > 0) changed(query.instanceId, 'repairs');
      return settled;
    },
    find: (query) => repairs.find(query),
    list: (query) => repairs.list(query),
    due: (query) => repairs.due(query),
    nextAt: (query) => repairs.nextAt(query),
    describe: (query) => repairs.describe(query),
    scheduledDeletions: (query) => repairs.scheduledDeletions(query),
    lanes: (query) => repairs.lanes(query),
    pending: (query) => repairs.pending(query),
    counts: (query) => repairs.counts(query),
    endedItems: (query) => repairs.endedItems(query),
    items: (query) => repairs.items(query),
    removeBefore: (query) => repairs.removeBefore(query),
  };
}
