/**
 * Starts entries of a repair. The state of the entry is written in the unit of its new run, so a killed process has written
 * both or neither. The unit is guarded by the version of the repair that admitted the entry.
 * Keeps invariant 16.
 */
import { LIMITS } from '../../config/limits.js';
import type { AdmittedStarts, ItemMove, LimitReason, RepairItemState } from '../../engine/dead-letters/repair.js';
import type { CommitUnit, StoreGuard, StoreWrite } from '../../engine/writes.js';
import type { InstanceLimits, RunAdmission } from '../../ports/stores/instance-limits.js';
import type { RepairItemRecord, RepairRecord, RepairStore } from '../../ports/stores/repair-store.js';
import type { RunStarts } from '../runs/run-starts.js';
import type { Recovery, RecoveryCommand } from '../services/dead-letters.js';

export interface EntryStarterOptions extends Omit<RunStarts, 'context'> {
  readonly repairs: RepairStore;
  readonly now: () => number;
  /** Returns the new run that recovers the entry. */
  readonly prepare: (command: RecoveryCommand, dlqId: string) => Promise<Recovery | 'missing' | 'no-flow-control-key'>;
  readonly limits: Pick<InstanceLimits, 'admitRuns' | 'releaseRuns' | 'recount'>;
}

/** The plan or budget limit that prevents further starts. */
export interface StartLimit {
  readonly reason: LimitReason;
  readonly message: string;
}

export interface StartedEntries {
  readonly moves: readonly ItemMove[];
  /** Why the plan or the budget of the instance admits no more. */
  readonly limit: StartLimit | null;
  /** Whether there were fewer pending entries than the repair counted. */
  readonly isMiscounted: boolean;
}

type ItemChange = Pick<Extract<StoreWrite, { readonly kind: 'set-repair-item' }>, 'state' | 'newRun' | 'error'>;

const GONE: ItemChange = { state: 'gone', newRun: null, error: null };
const NO_KEY: ItemChange = {
  state: 'failed',
  newRun: null,
  error: 'the overrides contain flow control limits without a key, and the run has no key; the entry was not changed',
};

export class EntryStarter {
  private readonly options: EntryStarterOptions;

  constructor(options: EntryStarterOptions) {
    this.options = options;
  }

  /**
   * Starts the admitted entries. Returns null if another process changed the repair. Rejects if the outcome of a commit is
   * unknown.
   */
  async start(record: RepairRecord, { of, count, excludedGroups }: AdmittedStarts): Promise<StartedEntries | null> {
    const { instanceId, repairId, action } = record.repair;
    // A canary is short, so its entries are read together, and those of failed groups are skipped.
    const maxPending = excludedGroups.length > 0 ? LIMITS.repairMaxCanary : count;
    const pendingItems = await this.options.repairs.pending({
      instanceId,
      repairId,
      canaryOnly: of === 'canary',
      limit: maxPending,
    });
    const items = pendingItems.filter(({ fingerprint }) => !excludedGroups.includes(fingerprint)).slice(0, count);
    const isMiscounted = items.length < count;
    if (action === 'delete') {
      const moves = await this.settle(items.map((item) => this.delete(record, item)));
      return moves && { moves, limit: null, isMiscounted };
    }
    const { admissions, limit } = await this.admitRuns(instanceId, items.length);
    const moves = await this.settle(
      admissions.flatMap((admission, index) => {
        const item = items[index];
        return item ? [this.recover(record, item, action, admission)] : [];
      }),
    );
    return moves && { moves, limit, isMiscounted };
  }

  /** Admits all entries together, or as many as possible one after the other. */
  private async admitRuns(
    instanceId: string,
    count: number,
  ): Promise<{ readonly admissions: readonly RunAdmission[]; readonly limit: StartLimit | null }> {
    const { limits } = this.options;
    const jointAdmission = count === 0 ? null : await limits.admitRuns(instanceId, count);
    if (jointAdmission === null) return { admissions: [], limit: null };
    if (jointAdmission.kind === 'admitted')
      return { admissions: Array.from({ length: count }, () => jointAdmission), limit: null };
    const admissions: RunAdmission[] = [];
    let refusal = jointAdmission;
    while (admissions.length < count - 1) {
      const admission = await limits.admitRuns(instanceId, 1);
      if (admission.kind === 'admitted') admissions.push(admission);
      else {
        refusal = admission;
        break;
      }
    }
    const reason = refusal.kind === 'daily-limit' ? 'daily-limit-reached' : refusal.kind;
    return { admissions, limit: { reason, message: refusal.message } };
  }

  private async settle(writes: readonly Promise<ItemMove | 'moved'>[]): Promise<readonly ItemMove[] | null> {
    const settledWrites = await Promise.allSettled(writes);
    for (const result of settledWrites) if (result.status === 'rejected') throw result.reason;
    const moves = settledWrites.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    return moves.includes('moved') ? null : moves.filter((move) => move !== 'moved');
  }

  private async recover(
    record: RepairRecord,
    item: RepairItemRecord,
    kind: 'resume' | 'restart',
    runAdmission: RunAdmission,
  ): Promise<ItemMove | 'moved'> {
    const { limits, prepare, drive } = this.options;
    const { instanceId } = record.repair;
    try {
      const { overrides } = record;
      const recovery = await prepare({ kind, instanceId, overrides, admittedAt: runAdmission.at }, item.dlqId);
      if (recovery === 'missing' || recovery === 'no-flow-control-key') {
        limits.releaseRuns(instanceId, 1, runAdmission);
        return await this.recordState(record, item, recovery === 'missing' ? GONE : NO_KEY);
      }
      const { run, unit } = recovery.startedRun;
      const newRun = { runKey: run.key, workflowRunId: run.workflowRunId };
      const move = await this.write(record, item, { state: 'started', newRun, error: null }, unit);
      if (move !== 'moved' && move.to === 'started') drive(recovery.startedRun, recovery.payload);
      else limits.releaseRuns(instanceId, 1, runAdmission);
      return move;
    } catch (error) {
      limits.recount(instanceId);
      throw error;
    }
  }

  private delete(record: RepairRecord, item: RepairItemRecord): Promise<ItemMove | 'moved'> {
    const { instanceId } = record.repair;
    return this.write(
      record,
      item,
      { state: 'succeeded', newRun: null, error: null },
      {
        guards: [{ kind: 'dead-letters-present', instanceId, dlqIds: [item.dlqId] }],
        writes: [{ kind: 'take-dead-letter', instanceId, dlqId: item.dlqId, recoveredAs: null }],
      },
    );
  }

  /** Records the state of the entry and changes nothing else. */
  private recordState(record: RepairRecord, item: RepairItemRecord, change: ItemChange): Promise<ItemMove | 'moved'> {
    return this.write(record, item, change, { guards: [], writes: [] });
  }

  private async write(
    record: RepairRecord,
    item: RepairItemRecord,
    change: ItemChange,
    { guards, writes }: CommitUnit,
  ): Promise<ItemMove | 'moved'> {
    const { commit, now } = this.options;
    const { instanceId, repairId } = record.repair;
    const versionGuard: StoreGuard = { kind: 'repair-at', instanceId, repairId, version: record.version };
    const itemWrite: StoreWrite = { kind: 'set-repair-item', instanceId, repairId, n: item.n, ...change, at: now() };
    const result = await commit({ guards: [versionGuard, ...guards], writes: [...writes, itemWrite] });
    switch (result.kind) {
      case 'applied':
        return moveOf(item, change.state);
      case 'repair-moved':
        return 'moved';
      case 'dead-letters-missing':
        return this.recordState(record, item, GONE);
      default:
        throw new Error(`an entry of a repair cannot end as ${result.kind}`);
    }
  }
}

const moveOf = ({ canary: isCanary }: RepairItemRecord, to: RepairItemState): ItemMove => ({ from: 'pending', to, isCanary });
