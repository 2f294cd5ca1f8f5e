/**
 * Whose turn it is. Accounts take turns, then the queue instances of an account: one that was served goes behind the others, also
 * behind those that come later.
 */
import type { InstanceOwners } from '../ports/instance-owners.js';

/** Accounts and instances that are remembered; the others count as not served yet. */
const MAX_REMEMBERED = 10_000;

interface OfInstance {
  readonly instanceId: string;
}

export class Turns {
  private readonly owners: InstanceOwners;
  private readonly accounts = new Map<string, number>();
  private readonly instances = new Map<string, number>();
  private served = 0;

  constructor(owners: InstanceOwners) {
    this.owners = owners;
  }

  /** Takes the one whose account, and then whose instance, was served longest ago; null when there is none. */
  next<Item extends OfInstance>(items: Iterable<Item>): Item | null {
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
    this.served++;
    if (this.instances.size >= MAX_REMEMBERED) this.instances.clear();
    if (this.accounts.size >= MAX_REMEMBERED) this.accounts.clear();
    this.instances.set(instanceId, this.served);
    this.accounts.set(this.owners.accountOf(instanceId), this.served);
  }
}

/** The same items, in turns by account, then by instance; those of one instance in their order. */
export function inTurns<Item extends OfInstance>(items: Iterable<Item>, owners: InstanceOwners): readonly Item[] {
  return [...oneByOne(byOwner(items, owners).map((instances) => [...oneByOne(instances)]))];
}

/** By account, and there by instance, in the order in which they come first. */
export function byOwner<Item extends OfInstance>(
  items: Iterable<Item>,
  owners: InstanceOwners,
): readonly (readonly (readonly Item[])[])[] {
  const accounts = new Map<string, Map<string, Item[]>>();
  for (const item of items) {
    const { instanceId } = item;
    const accountId = owners.accountOf(instanceId);
    const instances = accounts.get(accountId) ?? new Map<string, Item[]>();
    accounts.set(accountId, instances);
    const ofInstance = instances.get(instanceId);
    if (ofInstance) ofInstance.push(item);
    else instances.set(instanceId, [item]);
  }
  return [...accounts.values()].map((instances) => [...instances.values()]);
}

/** The first of each list, then the second of each, and so on. */
export function* oneByOne<Item>(lists: readonly (readonly Item[])[]): Generator<Item, undefined> {
  for (let index = 0, left = lists; left.length > 0; index++) {
    left = left.filter(({ length }) => length > index);
    for (const list of left) {
      const item = list[index];
      if (item !== undefined) yield item;
    }
  }
}
