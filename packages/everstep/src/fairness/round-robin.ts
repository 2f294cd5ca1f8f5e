/**
 * Selects whose turn it is. Accounts take turns, and within an account its queue instances. An account or instance that was
 * served moves behind all others, including later arrivals.
 */
import type { InstanceOwners } from '../ports/stores/instance-owners.js';

/** Maximum number of remembered accounts and instances. Others count as never served. */
const MAX_REMEMBERED = 10_000;

interface InstanceItem {
  readonly instanceId: string;
}

/** Remembers when each account and instance was last served. */
export class RoundRobin {
  private readonly owners: InstanceOwners;
  private readonly serveNumbersOfAccounts = new Map<string, number>();
  private readonly serveNumbersOfInstances = new Map<string, number>();
  private serveCount = 0;

  constructor(owners: InstanceOwners) {
    this.owners = owners;
  }

  /** Returns the item whose account, and then whose instance, was served longest ago; null if there is none. */
  next<Item extends InstanceItem>(items: Iterable<Item>): Item | null {
    let next: { readonly item: Item; readonly accountNumber: number; readonly instanceNumber: number } | null = null;
    for (const item of items) {
      const accountNumber = this.serveNumbersOfAccounts.get(this.owners.accountOf(item.instanceId)) ?? 0;
      const instanceNumber = this.serveNumbersOfInstances.get(item.instanceId) ?? 0;
      const isEarlier =
        next === null ||
        accountNumber < next.accountNumber ||
        (accountNumber === next.accountNumber && instanceNumber < next.instanceNumber);
      if (isEarlier) next = { item, accountNumber, instanceNumber };
    }
    if (next === null) return null;
    this.recordServed(next.item.instanceId);
    return next.item;
  }

  private recordServed(instanceId: string): void {
    this.serveCount++;
    if (this.serveNumbersOfInstances.size >= MAX_REMEMBERED) this.serveNumbersOfInstances.clear();
    if (this.serveNumbersOfAccounts.size >= MAX_REMEMBERED) this.serveNumbersOfAccounts.clear();
    this.serveNumbersOfInstances.set(instanceId, this.serveCount);
    this.serveNumbersOfAccounts.set(this.owners.accountOf(instanceId), this.serveCount);
  }
}

/** Returns the items in turns by account, then by instance. Items of one instance keep their order. */
export function interleaveByOwner<Item extends InstanceItem>(items: Iterable<Item>, owners: InstanceOwners): readonly Item[] {
  return [...interleave(groupByOwner(items, owners).map((instances) => [...interleave(instances)]))];
}

/** Groups items by account and then by instance, in the order in which they first occur. */
export function groupByOwner<Item extends InstanceItem>(
  items: Iterable<Item>,
  owners: InstanceOwners,
): readonly (readonly (readonly Item[])[])[] {
  const accounts = new Map<string, Map<string, Item[]>>();
  for (const item of items) {
    const { instanceId } = item;
    const accountId = owners.accountOf(instanceId);
    const instances = accounts.get(accountId) ?? new Map<string, Item[]>();
    accounts.set(accountId, instances);
    const instanceItems = instances.get(instanceId);
    if (instanceItems) instanceItems.push(item);
    else instances.set(instanceId, [item]);
  }
  return [...accounts.values()].map((instances) => [...instances.values()]);
}

/** Yields the first item of each list, then the second of each, and so on. */
export function* interleave<Item>(lists: readonly (readonly Item[])[]): Generator<Item, undefined> {
  for (let index = 0, remainingLists = lists; remainingLists.length > 0; index++) {
    remainingLists = remainingLists.filter(({ length }) => length > index);
    for (const list of remainingLists) {
      const item = list[index];
      if (item !== undefined) yield item;
    }
  }
}
