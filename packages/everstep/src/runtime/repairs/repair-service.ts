/**
 * What the service can be asked to do with repairs: bulk jobs over dead letters. They are planned, which freezes the
 * entries, and started; then the service drives them, over restarts too. What there is of them is read from the store.
 */
import type { Repair, RepairAction, StartSettings } from '../../engine/dead-letters/repair.js';
import type { Overrides } from '../../engine/runs/start.js';
import type { AuditEntry } from '../../ports/stores/account-store.js';
import type { RepairRecord } from '../../ports/stores/repair-store.js';
import type { DeadLetterFilter } from '../../ports/stores/store.js';

export type { StartSettings as RepairStartSettings } from '../../engine/dead-letters/repair.js';

export interface PlanRepairCommand {
  readonly instanceId: string;
  readonly action: RepairAction;
  readonly filter: DeadLetterFilter;
  readonly overrides: Overrides;
  /** Who plans it, for people; null when nobody knows. */
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
  /** The entry that tells of the change; written with it, or not at all. */
  readonly audit?: (changed: Repair) => Promise<AuditEntry>;
}

export type RepairChangeOutcome =
  | { readonly kind: 'changed'; readonly record: RepairRecord }
  | { readonly kind: 'not-found' }
  /** Its state does not allow this. */
  | { readonly kind: 'refused'; readonly message: string };

export interface RepairService {
  /** Resolves when its entries are frozen, or after about two seconds: then it is still being planned. */
  planRepair(command: PlanRepairCommand): Promise<RepairRecord>;
  changeRepair(command: RepairChangeCommand): Promise<RepairChangeOutcome>;
}
