/**
 * Messages that instances are billed for. They are summed in memory over a batch and written once for each instance and
 * day when the batch is, to whoever owns the instance at that moment, and at its price of that moment. The column `month`
 * holds days (`2026-11-21`); of what earlier versions counted, months.
 * Keeps invariants 17 and 20.
 */
import type { StatementSync } from 'node:sqlite';
import type { DayUsageRecord, UsageRecord } from '../../../ports/stores/account-store.js';
import { integer, numberOrNull, type Row, text, textOrNull } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

/** Stands for the account of an instance that nobody owns: a part of a key is never null. */
const NOBODY = '';
/** Stands for the price of an instance that has none yet. */
const NO_PRICE = -1;
const BILLS_KEPT = 10_000;
const DAY_MS = 86_400_000;
/** Of `2026-11`. */
const MONTH_LENGTH = 7;

interface Sum {
  readonly instanceId: string;
  readonly day: string;
  messages: number;
}

/** Who pays for messages that are written now, and how much. */
interface Bill {
  readonly owner: string;
  readonly price: number;
}

const billedOf = (row: Row) => ({
  instanceId: text(row, 'instance_id'),
  accountId: text(row, 'account_id') === NOBODY ? null : text(row, 'account_id'),
  price: integer(row, 'price') === NO_PRICE ? null : integer(row, 'price'),
  messages: integer(row, 'messages'),
});
const usageOf = (row: Row): UsageRecord => ({ ...billedOf(row), month: text(row, 'month').slice(0, MONTH_LENGTH) });
const dayUsageOf = (row: Row): DayUsageRecord => ({ ...billedOf(row), day: text(row, 'month') });

export class UsageCounts {
  private readonly upsert: StatementSync;
  private readonly selectBill: StatementSync;
  private readonly selectUsage: StatementSync;
  private readonly selectDays: StatementSync;
  private readonly addPriced: StatementSync;
  private readonly deleteUnpriced: StatementSync;
  private readonly unwritten = new Map<string, Sum>();
  private readonly bills = new Map<string, Bill>();
  /** The day that was asked for last, from its beginning to the next one's (Unix ms). */
  private lastDay = { from: 0, to: 0, name: '' };

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
    this.selectDays = connection.prepare(
      `SELECT * FROM usage WHERE instance_id = ? AND month >= ? AND length(month) > ${MONTH_LENGTH} ORDER BY month, account_id, price`,
    );
  }

  /** Only inside a transaction, whose end writes it. `at` is Unix ms. */
  add(instanceId: string, messages: number, at: number): void {
    if (messages === 0) return;
    const day = this.dayOf(at);
    const key = `${instanceId}\n${day}`;
    const sum = this.unwritten.get(key);
    if (sum) sum.messages += messages;
    else this.unwritten.set(key, { instanceId, day, messages });
  }

  flush(): void {
    if (this.unwritten.size === 0) return;
    for (const { instanceId, day, messages } of this.unwritten.values()) {
      const { owner, price } = this.billOf(instanceId);
      this.upsert.run(instanceId, day, owner, price, messages);
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
    const months = new Map<string, UsageRecord>();
    for (const day of this.selectUsage.all(instanceId, fromMonth).map(usageOf)) {
      const of = JSON.stringify([day.month, day.accountId, day.price]);
      months.set(of, { ...day, messages: day.messages + (months.get(of)?.messages ?? 0) });
    }
    return [...months.values()];
  }

  /** Days oldest first; `fromDay` as `2026-11-21`. */
  listDays(instanceId: string, fromDay: string): readonly DayUsageRecord[] {
    return this.selectDays.all(instanceId, fromDay).map(dayUsageOf);
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

  private dayOf(at: number): string {
    if (at < this.lastDay.from || at >= this.lastDay.to) {
      const from = Math.floor(at / DAY_MS) * DAY_MS;
      this.lastDay = { from, to: from + DAY_MS, name: new Date(from).toISOString().slice(0, 10) };
    }
    return this.lastDay.name;
  }
}
