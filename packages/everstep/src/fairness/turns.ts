/**
 * Selects whose turn it is. Accounts take turns, and within an account its queue instances. An account or instance that was
 * served goes behind all others, including later arrivals.
 */
import type { InstanceOwners } from '../ports/stores/instance-owners.js';

/** Maximum number of remembered accounts and instances. Others count as never served. */
const MAX_REMEMBERED = 10_000;

interface InstanceItem {
  readonly instanceId: string;
}

/** Remembers when each account and instance was last served. */
export class Turns {
  private readonly owners: InstanceOwners;
  private readonly accounts = new Map<string, number>();
  private readonly instances = new Map<string, number>();
  private serveCount = 0;

  constructor(owners: InstanceOwners) {
    this.owners = owners;
  }

  /** Returns the item whose account, and then whose instance, was served longest ago; null if there is none. */
  next<Item extends InstanceItem>(items: Iterable<Item>): Item | null {
    let next: { readonly item: Item; readonly accountAt: number; readonly at: number } | null = null;
    for (const item of items) {
      const accountAt = this.accounts.get(this.owners.accountOf(item.instanceId)) ?? 0;
      const at = this.instances.get(item.instanceId) ?? 0;
      if (next === null || accountAt < next.accountAt || (accountAt === next.accountAt && at < next.at))
        next = { item, accountAt, at };
    }
    if (next === null) return null;
    this.note(next.item.instanceId);
    return next.item;
  }

  private note(instanceId: string): void {
    this.serveCount++;
    if (this.instances.size >= MAX_REMEMBERED) this.instances.clear();
    if (this.accounts.size >= MAX_REMEMBERED) this.accounts.clear();
    this.instances.set(instanceId, this.serveCount);
    this.accounts.set(this.owners.accountOf(instanceId), this.serveCount);
  }
}

/** Returns the items in turns by account, then by instance. Items of one instance keep their order. */
export function inTurns<Item extends InstanceItem>(items: Iterable<Item>, owners: InstanceOwners): readonly Item[] {
  return [...interleave(byOwner(items, owners).map((instances) => [...interleave(instances)]))];
}

/** Groups items by account and then by instance, in the order in which they first occur. */
export function byOwner<Item extends InstanceItem>(
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
