/** Writes repairs, and reports each change to the clients that watch its instance. */
import { canBeUndone } from '../../engine/dead-letters/repair.js';
import type { RepairRecord, RepairStore } from '../../ports/stores/repair-store.js';

/** Returns whether the change affects how dead letters are shown: their deletion was scheduled, paused or undone. */
const changesEntries = ({ repair }: RepairRecord): boolean => canBeUndone(repair) || repair.stopReason === 'undone';

export class RepairWrites {
  private readonly repairs: RepairStore;
  private readonly reportChange: (instanceId: string, topic: 'repairs' | 'dlq') => void;

  constructor(repairs: RepairStore, reportChange: (instanceId: string, topic: 'repairs' | 'dlq') => void) {
    this.repairs = repairs;
    this.reportChange = reportChange;
  }

  async create(query: Parameters<RepairStore['create']>[0]): Promise<boolean> {
    const isCreated = await this.repairs.create(query);
    if (isCreated) this.reportChange(query.record.repair.instanceId, 'repairs');
    return isCreated;
  }

  async put(query: Parameters<RepairStore['put']>[0]): Promise<boolean> {
    const isWritten = await this.repairs.put(query);
    if (isWritten) this.reportChange(query.record.repair.instanceId, 'repairs');
    if (isWritten && changesEntries(query.record)) this.reportChange(query.record.repair.instanceId, 'dlq');
    return isWritten;
  }

  async settle(query: Parameters<RepairStore['settle']>[0]): ReturnType<RepairStore['settle']> {
    const settledIndexes = await this.repairs.settle(query);
    if (settledIndexes.length > 0) this.reportChange(query.instanceId, 'repairs');
    return settledIndexes;
  }
}
