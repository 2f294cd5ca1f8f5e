/**
 * Sums the messages that instances are billed for, by instance and day, and by the owner and the price that the instance has when
 * the messages are counted.
 * Keeps invariants 17 and 20.
 */
import type { StatementSync } from 'node:sqlite';
import { dayOf, NO_OWNER, NO_PRICE } from '../../shared/accounts/usage.js';
import type { UnsettledSums } from '../commit/unsettled-sums.js';
import { numberOrNull, textOrNull } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

const MAX_CACHED_BILLS = 10_000;

/** The account that is billed for messages that are written now, and their price. */
interface Bill {
  readonly owner: string;
  readonly price: number;
}

export class UsageCounts {
  private readonly sums: UnsettledSums;
  private readonly selectBill: StatementSync;
  private readonly addPriced: StatementSync;
  private readonly deleteUnpriced: StatementSync;
  private readonly bills = new Map<string, Bill>();

  constructor(connection: Connection, sums: UnsettledSums) {
    this.sums = sums;
    this.selectBill = connection.prepare('SELECT account_id, price FROM queue_instance WHERE instance_id = ?');
    this.addPriced = connection.prepare(
      `INSERT INTO usage (instance_id, month, account_id, price, messages)
         SELECT instance_id, month, account_id, ?, messages FROM usage WHERE instance_id = ? AND price = ${NO_PRICE}
       ON CONFLICT (instance_id, month, account_id, price) DO UPDATE SET messages = messages + excluded.messages`,
    );
    this.deleteUnpriced = connection.prepare(`DELETE FROM usage WHERE instance_id = ? AND price = ${NO_PRICE}`);
  }

  /** Adds messages, which are written at the end of the transaction. Requires an open transaction. `at` is Unix ms. */
  add(instanceId: string, messages: number, at: number): void {
    if (messages === 0) return;
    const { owner, price } = this.billOf(instanceId);
    this.sums.add('usage', [instanceId, dayOf(at), owner, price], [messages]);
  }

  /** Discards state that a rollback may have undone. */
  forget(): void {
    this.bills.clear();
  }

  /** Must be called, inside the transaction, whenever the instance is created or changed. */
  updateBill(instanceId: string, price: number | undefined): void {
    this.bills.delete(instanceId);
    if (price === undefined) return;
    // Messages that were counted before the instance had a price get its first price permanently.
    this.sums.settle();
    if (this.addPriced.run(price, instanceId).changes > 0) this.deleteUnpriced.run(instanceId);
  }

  private billOf(instanceId: string): Bill {
    const cached = this.bills.get(instanceId);
    if (cached) return cached;
    const row = this.selectBill.get(instanceId);
    const owner = (row ? textOrNull(row, 'account_id') : null) ?? NO_OWNER;
    const price = (row ? numberOrNull(row, 'price') : null) ?? NO_PRICE;
    if (this.bills.size >= MAX_CACHED_BILLS) this.bills.clear();
    const bill = { owner, price };
    this.bills.set(instanceId, bill);
    return bill;
  }
}
