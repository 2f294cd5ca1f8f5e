/**
 * What messages cost, in dollars for 100,000. The store counts messages at the
 * price that their instance has at that moment, so what was counted keeps its
 * price: another plan or another plans file counts from then on.
 */
import { newKey } from '../engine/ids.js';
import type { AccountStore, AuditEntry, QueueInstance, UsageRecord } from '../ports/account-store.js';
import type { Random } from '../ports/random.js';
import { roundedDollars } from './billed-months.js';
import type { Plans } from './plans.js';

const MESSAGES_PER_PRICE = 100_000;
/** Instances whose prices are written at the same time: the store makes few commits durable for all of them. */
const AT_ONCE = 100;

/** Dollars for what was counted; `price` is for what was counted while there was none. */
export function costOf(usage: readonly Pick<UsageRecord, 'price' | 'messages'>[], price: number): number {
  const dollars = usage.reduce((sum, each) => sum + (each.messages * (each.price ?? price)) / MESSAGES_PER_PRICE, 0);
  // Sums of fractions are otherwise a little less than a budget that they are meant to reach.
  return roundedDollars(dollars);
}

export interface RecordPricesOptions {
  readonly accounts: Pick<AccountStore, 'listInstances' | 'changeInstance'>;
  readonly plans: Plans;
  /** Unix ms. */
  readonly now: () => number;
  readonly random: Random;
}

/**
 * To be called at the start, before anything is counted: the plans file may say another price than it did, or name a plan
 * no more. Resolves when each instance has the price of its plan.
 */
export async function recordPrices({ accounts, plans, now, random }: RecordPricesOptions): Promise<void> {
  const priceOf = (instance: QueueInstance): number => plans.planOf(instance).pricePer100kMessages;

  /** Nothing when this is its first price: then it did not change. */
  function auditOf(instance: QueueInstance): AuditEntry | undefined {
    const { instanceId, accountId, price: from } = instance;
    if (from === undefined || accountId === undefined) return undefined;
    return {
      auditId: `aud_${newKey({ now: now(), random })}`,
      at: now(),
      actor: 'operator',
      address: 'start',
      action: 'queue.set-price',
      subject: instanceId,
      details: { plan: plans.planOf(instance).name, from, to: priceOf(instance) },
      accountIds: [accountId],
    };
  }

  const stale = (await accounts.listInstances()).filter((instance) => instance.price !== priceOf(instance));
  for (let first = 0; first < stale.length; first += AT_ONCE) {
    await Promise.all(
      stale.slice(first, first + AT_ONCE).map((instance) => {
        const audit = auditOf(instance);
        const change = { price: priceOf(instance) };
        return accounts.changeInstance({ instanceId: instance.instanceId, change, ...(audit ? { audit } : {}) });
      }),
    );
  }
}
