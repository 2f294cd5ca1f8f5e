/**
 * Selects the units of the next batch if more are waiting than fit. Accounts take turns, then the instances of an account, one
 * unit at a time. Units of one instance keep their order; only these can depend on each other. A unit of an unknown instance is
 * written after all units submitted before it, and before all later ones.
 */
import { groupByOwner, interleave } from '../../fairness/round-robin.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';

export interface WaitingUnit {
  /** Instance of the unit; null if unknown. */
  readonly instanceId: string | null;
  readonly bytes: number;
}

export interface BatchLimits {
  readonly maxUnits: number;
  /** Maximum size of a batch. A larger unit is written alone. */
  readonly maxBytes: number;
}

export class BatchSelector {
  private readonly owners: InstanceOwners;
  private readonly limits: BatchLimits;
  /** The next batch starts with the account after this one. */
  private lastAccountId: string | null = null;

  constructor(owners: InstanceOwners, limits: BatchLimits) {
    this.owners = owners;
    this.limits = limits;
  }

  /**
   * Returns the units of one batch, in the order in which they are written. `mayTake` is called once for each unit considered, in
   * order within an instance. A unit that may not be taken is skipped and does not count.
   */
  select<Unit extends WaitingUnit>(waitingUnits: readonly Unit[], mayTake: (unit: Unit) => boolean): ReadonlySet<Unit> {
    const { maxUnits, maxBytes } = this.limits;
    if (waitingUnits.length <= maxUnits && sumOf(waitingUnits) <= maxBytes) return new Set(waitingUnits.filter(mayTake));
    const [firstUnit] = waitingUnits;
    if (firstUnit?.instanceId === null) return new Set(mayTake(firstUnit) ? [firstUnit] : []);
    const batch = new Set<Unit>();
    let bytes = 0;
    for (const unit of this.inTurns(waitingUnits)) {
      if (batch.size >= maxUnits || (batch.size > 0 && bytes + unit.bytes > maxBytes)) break;
      if (!mayTake(unit)) continue;
      batch.add(unit);
      bytes += unit.bytes;
      this.lastAccountId = unit.instanceId === null ? null : this.owners.accountOf(unit.instanceId);
    }
    return batch;
  }

  private inTurns<Unit extends WaitingUnit>(waitingUnits: readonly Unit[]): Iterable<Unit> {
    const accounts = groupByOwner(unitsBeforeUnknownInstance(waitingUnits), this.owners);
    const accountIds = accounts.map(([units]) => this.owners.accountOf(units?.[0]?.instanceId ?? ''));
    const start = this.lastAccountId === null ? 0 : accountIds.indexOf(this.lastAccountId) + 1;
    return interleave([...accounts.slice(start), ...accounts.slice(0, start)].map((instances) => [...interleave(instances)]));
  }
}

function* unitsBeforeUnknownInstance<Unit extends WaitingUnit>(
  waitingUnits: readonly Unit[],
): Generator<Unit & { readonly instanceId: string }> {
  for (const unit of waitingUnits) {
    if (!hasInstance(unit)) return;
    yield unit;
  }
}

const hasInstance = <Unit extends WaitingUnit>(unit: Unit): unit is Unit & { readonly instanceId: string } =>
  unit.instanceId !== null;

const sumOf = (waitingUnits: readonly WaitingUnit[]): number => waitingUnits.reduce((sum, { bytes }) => sum + bytes, 0);
