/**
 * Messages that instances are billed for. They are summed in memory over a batch. At its end, one row is written for each
 * instance and day, for the owner and the price that the instance has at that moment.
 * Keeps invariants 17 and 20.
 */
import type { StatementSync } from 'node:sqlite';
import { NO_OWNER, NO_PRICE, UsageSums } from '../../shared/accounts/usage.js';
import { numberOrNull, textOrNull } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

const BILLS_KEPT = 10_000;

/** Who is billed for messages that are written now, and the price. */
interface Bill {
  readonly owner: string;
  readonly price: number;
}

export class UsageCounts {
  private readonly upsert: StatementSync;
  private readonly selectBill: StatementSync;
  private readonly addPriced: StatementSync;
  private readonly deleteUnpriced: StatementSync;
  private readonly unwritten = new UsageSums();
  private readonly bills = new Map<string, Bill>();

  constructor(connection: Connection) {
    this.upsert = connection.prepare(
      `INSERT INTO usage (instance_id, month, account_id, price, messages) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (instance_id, month, account_id, price) DO UPDATE SET messages = messages + excluded.messages`,
    );
    this.selectBill = connection.prepare('SELECT account_id, price FROM queue_instance WHERE instance_id = ?');
    this.addPriced = connection.prepare(
      `INSERT INTO usage (instance_id, month, account_id, price, messages)
         SELECT instance_id, month, account_id, ?, messages FROM usage WHERE instance_id = ? AND price = ${NO_PRICE}
       ON CONFLICT (instance_id, month, account_id, price) DO UPDATE SET messages = messages + excluded.messages`,
    );
    this.deleteUnpriced = connection.prepare(`DELETE FROM usage WHERE instance_id = ? AND price = ${NO_PRICE}`);
  }

  /** Only inside a transaction, whose end writes it. `at` is Unix ms. */
  add(instanceId: string, messages: number, at: number): void {
    this.unwritten.add(instanceId, messages, at);
  }

  flush(): void {
    for (const { instanceId, day, messages } of this.unwritten.take()) {
      const { owner, price } = this.billOf(instanceId);
      this.upsert.run(instanceId, day, owner, price, messages);
    }
  }

  /** Drops counts that a rollback undid. */
  forget(): void {
    this.unwritten.take();
    this.bills.clear();
  }

  /** Must be called, inside the transaction, whenever the instance is created or changed. */
  instanceChanged(instanceId: string, price: number | undefined): void {
    this.bills.delete(instanceId);
    // Messages that were counted before there was a price get the first one, and keep it.
    if (price !== undefined && this.addPriced.run(price, instanceId).changes > 0) this.deleteUnpriced.run(instanceId);
  }

  private billOf(instanceId: string): Bill {
    const known = this.bills.get(instanceId);
    if (known) return known;
    const row = this.selectBill.get(instanceId);
    const owner = (row ? textOrNull(row, 'account_id') : null) ?? NO_OWNER;
    const price = (row ? numberOrNull(row, 'price') : null) ?? NO_PRICE;
    if (this.bills.size >= BILLS_KEPT) this.bills.clear();
    const bill = { owner, price };
    this.bills.set(instanceId, bill);
    return bill;
  }
}
