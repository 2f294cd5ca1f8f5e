/**
 * Messages that instances are billed for. They are summed in memory over a batch and written once for each instance and
 * month when the batch is, to whoever owns the instance at that moment.
 */
import type { StatementSync } from 'node:sqlite';
import type { UsageRecord } from '../../ports/account-store.js';
import { integer, type Row, text, textOrNull } from './columns.js';
import type { Connection } from './connection.js';

/** Stands for the account of an instance that nobody owns: a part of a key is never null. */
const NOBODY = '';
const OWNERS_KEPT = 10_000;

interface Sum {
  readonly instanceId: string;
  readonly month: string;
  messages: number;
}

const usageOf = (row: Row): UsageRecord => ({
  instanceId: text(row, 'instance_id'),
  accountId: text(row, 'account_id') === NOBODY ? null : text(row, 'account_id'),
  month: text(row, 'month'),
  messages: integer(row, 'messages'),
});

export class UsageCounts {
  private readonly upsert: StatementSync;
  private readonly selectOwner: StatementSync;
  private readonly selectUsage: StatementSync;
  private readonly unwritten = new Map<string, Sum>();
  private readonly owners = new Map<string, string>();
  /** The month that was asked for last, from its beginning to the next one's (Unix ms). */
  private lastMonth = { from: 0, to: 0, name: '' };

  constructor(connection: Connection) {
    this.upsert = connection.prepare(
      `INSERT INTO usage (instance_id, month, account_id, messages) VALUES (?, ?, ?, ?)
       ON CONFLICT (instance_id, month, account_id) DO UPDATE SET messages = messages + excluded.messages`,
    );
    this.selectOwner = connection.prepare('SELECT account_id FROM queue_instance WHERE instance_id = ?');
    this.selectUsage = connection.prepare(
      'SELECT * FROM usage WHERE instance_id = ? AND month >= ? ORDER BY month DESC, account_id DESC',
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
    for (const { instanceId, month, messages } of this.unwritten.values())
      this.upsert.run(instanceId, month, this.ownerOf(instanceId), messages);
    this.unwritten.clear();
  }

  /** Drops what a rollback undid. */
  forget(): void {
    this.unwritten.clear();
    this.owners.clear();
  }

  /** To be told whenever the instance came to be or may belong to another account. */
  ownerChanged(instanceId: string): void {
    this.owners.delete(instanceId);
  }

  /** Months newest first. */
  list(instanceId: string, fromMonth: string): readonly UsageRecord[] {
    return this.selectUsage.all(instanceId, fromMonth).map(usageOf);
  }

  private ownerOf(instanceId: string): string {
    const known = this.owners.get(instanceId);
    if (known !== undefined) return known;
    const row = this.selectOwner.get(instanceId);
    const owner = (row ? textOrNull(row, 'account_id') : null) ?? NOBODY;
    if (this.owners.size >= OWNERS_KEPT) this.owners.clear();
    this.owners.set(instanceId, owner);
    return owner;
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
