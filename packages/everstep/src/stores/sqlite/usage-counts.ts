/**
 * Messages that instances are billed for. They are summed in memory over a batch and written once for each instance and
 * month when the batch is, to whoever owns the instance at that moment, and at its price of that moment.
 */
import type { StatementSync } from 'node:sqlite';
import type { UsageRecord } from '../../ports/account-store.js';
import { integer, numberOrNull, type Row, text, textOrNull } from './columns.js';
import type { Connection } from './connection.js';

/** Stands for the account of an instance that nobody owns: a part of a key is never null. */
const NOBODY = '';
/** Stands for the price of an instance that has none yet. */
const NO_PRICE = -1;
const BILLS_KEPT = 10_000;

interface Sum {
  readonly instanceId: string;
  readonly month: string;
  messages: number;
}

/** Who pays for messages that are written now, and how much. */
interface Bill {
  readonly owner: string;
  readonly price: number;
}

const usageOf = (row: Row): UsageRecord => ({
  instanceId: text(row, 'instance_id'),
  accountId: text(row, 'account_id') === NOBODY ? null : text(row, 'account_id'),
  month: text(row, 'month'),
  price: integer(row, 'price') === NO_PRICE ? null : integer(row, 'price'),
  messages: integer(row, 'messages'),
});

export class UsageCounts {
  private readonly upsert: StatementSync;
  private readonly selectBill: StatementSync;
  private readonly selectUsage: StatementSync;
  private readonly addPriced: StatementSync;
  private readonly deleteUnpriced: StatementSync;
  private readonly unwritten = new Map<string, Sum>();
  private readonly bills = new Map<string, Bill>();
  /** The month that was asked for last, from its beginning to the next one's (Unix ms). */
  private lastMonth = { from: 0, to: 0, name: '' };

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
    this.selectUsage = connection.prepare(
      'SELECT * FROM usage WHERE instance_id = ? AND month >= ? ORDER BY month DESC, account_id DESC, price DESC',
    );
  }

  /** Only inside a transaction, whose end writes it. `at` is Unix ms. */
  add(instanceId: string, messages: number, at: number): void {
    if (messages === 0) return;
    const month = this.monthOf(at);
    const key = `${instanceId}\n${month}`;
    const sum = this.unwritten.get(key);
    if (sum) sum.messages += messages;
    else this.unwritten.set(key, { instanceId, month, messages });
  }

  flush(): void {
    if (this.unwritten.size === 0) return;
    for (const { instanceId, month, messages } of this.unwritten.values()) {
      const { owner, price } = this.billOf(instanceId);
      this.upsert.run(instanceId, month, owner, price, messages);
    }
    this.unwritten.clear();
  }

  /** Drops what a rollback undid. */
  forget(): void {
    this.unwritten.clear();
    this.bills.clear();
  }

  /** To be told, inside the transaction, whenever the instance came to be or something of it was changed. */
  instanceChanged(instanceId: string, price: number | undefined): void {
    this.bills.delete(instanceId);
    // What was counted before there was a price has that of now, and keeps it.
    if (price !== undefined && this.addPriced.run(price, instanceId).changes > 0) this.deleteUnpriced.run(instanceId);
  }

  /** Months newest first. */
  list(instanceId: string, fromMonth: string): readonly UsageRecord[] {
    return this.selectUsage.all(instanceId, fromMonth).map(usageOf);
  }

  private billOf(instanceId: string): Bill {
    const known = this.bills.get(instanceId);
    if (known) return known;
    const row = this.selectBill.get(instanceId);
    const owner = (row ? textOrNull(row, 'account_id') : null) ?? NOBODY;
    const price = (row ? numberOrNull(row, 'price') : null) ?? NO_PRICE;
    if (this.bills.size >= BILLS_KEPT) this.bills.clear();
    const bill = { owner, price };
    this.bills.set(instanceId, bill);
    return bill;
  }

  private monthOf(at: number): string {
    if (at < this.lastMonth.from || at >= this.lastMonth.to) {
      const date = new Date(at);
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      this.lastMonth = { from: Date.UTC(year, month), to: Date.UTC(year, month + 1), name: date.toISOString().slice(0, 7) };
    }
    return this.lastMonth.name;
  }
}
