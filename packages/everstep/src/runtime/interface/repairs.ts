/**
 * Repairs: bulk jobs over dead letters. A plan freezes the entries. A started repair continues across restarts. This service only
 * changes repairs; they are read from the store.
 */
import type { Repair, RepairAction, StartSettings } from '../../engine/dead-letters/repair.js';
import type { Overrides } from '../../engine/runs/settings.js';
import type { AuditEntry } from '../../ports/stores/account-store.js';
import type { RepairRecord } from '../../ports/stores/repair-store.js';
import type { DeadLetterFilter } from '../../ports/stores/store.js';

export type { StartSettings as RepairStartSettings } from '../../engine/dead-letters/repair.js';

export interface PlanRepairCommand {
  readonly instanceId: string;
  readonly action: RepairAction;
  readonly filter: DeadLetterFilter;
  readonly overrides: Overrides;
  /** Name of the user who plans it; null if unknown. */
  readonly createdBy: string | null;
}

export type RepairChange =
  | { readonly kind: 'start'; readonly settings: StartSettings }
  | { readonly kind: 'pause' }
  | { readonly kind: 'continue'; readonly ratePerSecond: number | undefined }
  | { readonly kind: 'abort' };

export interface RepairChangeCommand {
  readonly instanceId: string;
  readonly repairId: string;
  readonly change: RepairChange;
  /** Returns the audit entry of the change, which is written in the same transaction. */
  readonly audit?: (changed: Repair) => Promise<AuditEntry>;
}

export type RepairChangeOutcome =
  | { readonly kind: 'changed'; readonly record: RepairRecord }
  | { readonly kind: 'not-found' }
  /** The state of the repair does not allow this. */
  | { readonly kind: 'refused'; readonly message: string };

export interface RepairService {
  /**
   * Plans a repair. Resolves when its entries are frozen, or after about two seconds while planning continues. Resolves with
   * `too-many-repairs` if the instance has the maximum number of repairs that have not ended.
   */
  plan(command: PlanRepairCommand): Promise<RepairRecord | 'too-many-repairs'>;
  change(command: RepairChangeCommand): Promise<RepairChangeOutcome>;
}
