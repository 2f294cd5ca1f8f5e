/**
 * Message prices in dollars per 100,000. The store counts messages at the current price of their instance. A later change of the
 * plan or of the plans file does not affect messages already counted.
 * Keeps invariant 20.
 */
import { newKey } from '../../engine/ids.js';
import type { Random } from '../../ports/random.js';
import type { AccountStore, AuditEntry, QueueInstance, UsageRecord } from '../../ports/stores/account-store.js';
import type { Plans } from '../plans/plans.js';
import { roundDollars } from './billed-months.js';

const MESSAGES_PER_PRICE = 100_000;
/** Number of instances whose prices are written concurrently, which the store combines into a few commits. */
const MAX_CONCURRENT = 100;

/** Returns the cost in dollars. `price` applies to messages counted while no price was recorded. */
export function costOf(usage: readonly Pick<UsageRecord, 'price' | 'messages'>[], price: number): number {
  const dollars = usage.reduce((sum, record) => sum + (record.messages * (record.price ?? price)) / MESSAGES_PER_PRICE, 0);
  // Without rounding, a sum of fractions can be slightly below the budget that it should reach.
  return roundDollars(dollars);
}

export interface RecordPricesOptions {
  readonly accounts: Pick<AccountStore, 'listInstances' | 'changeInstance'>;
  readonly plans: Plans;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  readonly random: Random;
}

/**
 * Records the plan price of each instance. Call it at startup before anything is counted, because the plans file may
 * have changed prices or removed a plan.
 */
export async function recordPrices({ accounts, plans, now, random }: RecordPricesOptions): Promise<void> {
  const priceOf = (instance: QueueInstance): number => plans.planOf(instance).pricePer100kMessages;

  /** Returns the audit entry of a price change, or undefined for the first price, which is not a change. */
  function priceChangeEntry(instance: QueueInstance): AuditEntry | undefined {
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

  const staleInstances = (await accounts.listInstances()).filter((instance) => instance.price !== priceOf(instance));
  for (let start = 0; start < staleInstances.length; start += MAX_CONCURRENT) {
    await Promise.all(
      staleInstances.slice(start, start + MAX_CONCURRENT).map((instance) => {
        const audit = priceChangeEntry(instance);
        const change = { price: priceOf(instance) };
        return accounts.changeInstance({ instanceId: instance.instanceId, change, ...(audit ? { audit } : {}) });
      }),
    );
  }
}
