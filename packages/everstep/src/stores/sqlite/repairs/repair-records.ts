/** Repairs: which there are, how each of them stands, and which have to be driven. */
import type { StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { REPAIR_PHASES } from '../../../engine/dead-letters/repair.js';
import type { RepairId, RepairRecord, RepairStore } from '../../../ports/stores/repair-store.js';
import { addSealedAudit } from '../../shared/audit/audit-chain.js';
import { integer, integerOrNull, json, type Row, word } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { Transaction } from '../connection/transaction.js';
import { EMPTY_LISTING, positionOf } from '../listing/listing.js';
import { RepairItems } from './repair-items.js';

/** Items described before others may go on: a few ms. */
const DESCRIBED_PER_TURN = 250;

/** What has a column of its own is not in the text. */
type Kept = Omit<RepairRecord, 'version' | 'wakeAt'>;

const recordOf = (row: Row): RepairRecord => {
  const { repair, ...rest } = json<Kept>(row, 'data');
  return {
    ...rest,
    repair: { ...repair, phase: word(row, 'phase', REPAIR_PHASES) },
    wakeAt: integerOrNull(row, 'wake_at'),
    version: integer(row, 'version'),
  };
};

const dataOf = ({ version: _version, wakeAt: _wakeAt, ...kept }: RepairRecord): string => JSON.stringify(kept);

export class RepairRecords implements RepairStore {
  private readonly parts: StoreParts;
  private readonly transaction: Transaction;
  private readonly itemRows: RepairItems;
  private readonly insertOne: StatementSync;
  private readonly updateOne: StatementSync;
  private readonly selectOne: StatementSync;
  private readonly selectSeq: StatementSync;
  private readonly selectDue: StatementSync;
  private readonly selectNext: StatementSync;
  private readonly selectOver: StatementSync;
  private readonly deleteOne: StatementSync;

  constructor(parts: StoreParts, transaction: Transaction) {
    const { connection } = parts;
    this.parts = parts;
    this.transaction = transaction;
    this.itemRows = new RepairItems(parts);
    this.insertOne = connection.prepare(
      `INSERT INTO repair (tenant, repair_id, phase, version, created_at, ended_at, wake_at, data) VALUES (?, ?, ?, 0, ?, ?, ?, ?)`,
    );
    this.updateOne = connection.prepare(
      'UPDATE repair SET phase = ?, version = version + 1, ended_at = ?, wake_at = ?, data = ? WHERE seq = ? AND version = ?',
    );
    this.selectOne = connection.prepare('SELECT * FROM repair WHERE repair_id = ? AND tenant = ?');
    this.selectSeq = connection.prepare('SELECT seq, version FROM repair WHERE repair_id = ? AND tenant = ?');
    this.selectDue = connection.prepare('SELECT * FROM repair WHERE wake_at <= ? ORDER BY wake_at, seq LIMIT ?');
    this.selectNext = connection.prepare('SELECT wake_at FROM repair WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1');
    this.selectOver = connection.prepare(
      `SELECT seq FROM repair WHERE tenant = ? AND wake_at IS NULL
       AND (ended_at < ? OR (phase = 'planned' AND created_at < ?)) ORDER BY seq LIMIT 1`,
    );
    this.deleteOne = connection.prepare('DELETE FROM repair WHERE seq = ?');
  }

  async create({ record }: Parameters<RepairStore['create']>[0]): Promise<void> {
    const { repair, wakeAt } = record;
    this.transaction.run(() => {
      const tenant = this.parts.tenants.findOrCreate(repair.instanceId);
      this.parts.counters.raise('latest_time', repair.createdAt);
      this.insertOne.run(tenant, repair.repairId, repair.phase, repair.createdAt, repair.endedAt, wakeAt, dataOf(record));
    });
    await this.parts.connection.durable();
  }

  async find({ instanceId, repairId }: RepairId): Promise<RepairRecord | null> {
    const tenant = this.parts.tenants.find(instanceId);
    const row = tenant === null ? undefined : this.selectOne.get(repairId, tenant);
    return row ? recordOf(row) : null;
  }

  async list({ instanceId, phases, after, limit }: Parameters<RepairStore['list']>[0]): ReturnType<RepairStore['list']> {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return EMPTY_LISTING;
    const wanted = phases ? `AND phase IN (${phases.map(() => '?').join(', ')})` : '';
    const rows = this.parts.connection
      .prepare(`SELECT * FROM repair WHERE tenant = ? AND seq < ? ${wanted} ORDER BY seq DESC LIMIT ?`)
      .all(tenant, after === null ? Number.MAX_SAFE_INTEGER : Number(after), ...(phases ?? []), limit + 1);
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return { items: items.map(recordOf), next: rows.length > limit && last ? positionOf(integer(last, 'seq')) : null };
  }

  async put({ record, items = [], canary = 0, audit }: Parameters<RepairStore['put']>[0]): Promise<boolean> {
    const { repair, version, wakeAt } = record;
    const seq = this.seqOf(repair);
    if (seq === null) return false;
    const written = this.transaction.run(() => {
      const { changes } = this.updateOne.run(repair.phase, repair.endedAt, wakeAt, dataOf(record), seq, version);
      if (changes === 0) return false;
      this.itemRows.add(seq, items);
      if (canary > 0) this.itemRows.chooseCanary(seq, canary);
      if (audit) this.parts.sql.run(addSealedAudit(audit));
      return true;
    });
    if (written) await this.parts.connection.durable();
    return written;
  }

  async due({ before, limit }: Parameters<RepairStore['due']>[0]): ReturnType<RepairStore['due']> {
    return this.selectDue.all(before, limit).map(recordOf);
  }

  async nextAt(): Promise<number | null> {
    const row = this.selectNext.get();
    return row ? integer(row, 'wake_at') : null;
  }

  async describe({ instanceId, dlqIds }: Parameters<RepairStore['describe']>[0]): ReturnType<RepairStore['describe']> {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return [];
    const described = [];
    for (const [at, dlqId] of dlqIds.entries()) {
      if (at > 0 && at % DESCRIBED_PER_TURN === 0) await nextTurn();
      const entry = this.itemRows.describe(tenant, dlqId);
      if (entry) described.push(entry);
    }
    return described;
  }

  async scheduledDeletions(
    query: Parameters<RepairStore['scheduledDeletions']>[0],
  ): ReturnType<RepairStore['scheduledDeletions']> {
    const tenant = this.parts.tenants.find(query.instanceId);
    if (tenant === null) return [];
    return query.dlqIds.map((dlqId) => this.itemRows.comingDeletion(tenant, dlqId)).filter((coming) => coming !== null);
  }

  async lanes(id: RepairId): ReturnType<RepairStore['lanes']> {
    const seq = this.seqOf(id);
    return seq === null ? [] : this.itemRows.lanes(seq);
  }

  async pending({ canaryOnly, limit, ...id }: Parameters<RepairStore['pending']>[0]): ReturnType<RepairStore['pending']> {
    const seq = this.seqOf(id);
    return seq === null ? [] : this.itemRows.pending(seq, canaryOnly, limit);
  }

  async counts(id: RepairId): ReturnType<RepairStore['counts']> {
    return this.itemRows.counts(this.seqOf(id) ?? 0);
  }

  async endedItems({ after, limit, ...id }: Parameters<RepairStore['endedItems']>[0]): ReturnType<RepairStore['endedItems']> {
    return this.itemRows.ended(this.seqOf(id) ?? 0, after, limit);
  }

  async settle({ items, at, ...id }: Parameters<RepairStore['settle']>[0]): Promise<readonly number[]> {
    const seq = this.seqOf(id);
    if (seq === null || items.length === 0) return [];
    const settled = this.transaction.run(() => items.filter((item) => this.itemRows.settle(seq, item, at)));
    await this.parts.connection.durable();
    return settled.map(({ n }) => n);
  }

  async items({ states, after, limit, ...id }: Parameters<RepairStore['items']>[0]): ReturnType<RepairStore['items']> {
    const seq = this.seqOf(id);
    return seq === null ? { items: [], next: null } : this.itemRows.list(seq, states, after, limit);
  }

  async removeBefore({ instanceId, before, plannedBefore, limit }: Parameters<RepairStore['removeBefore']>[0]): Promise<boolean> {
    const tenant = this.parts.tenants.find(instanceId);
    const row = tenant === null ? undefined : this.selectOver.get(tenant, before ?? 0, plannedBefore);
    if (!row) return false;
    const seq = integer(row, 'seq');
    this.transaction.run(() => {
      if (this.itemRows.remove(seq, limit) < limit) this.deleteOne.run(seq);
    });
    await this.parts.connection.durable();
    return true;
  }

  /** Whether the repair is at this version. */
  isAt(instanceId: string, repairId: string, version: number): boolean {
    const row = this.rowOf({ instanceId, repairId });
    return row !== null && integer(row, 'version') === version;
  }

  /** Inside a batch; nothing when it is not pending any more. */
  setItem(write: Parameters<RepairItems['set']>[1] & RepairId): void {
    const seq = this.seqOf(write);
    if (seq === null) throw new Error(`there is no repair ${write.repairId}`);
    this.itemRows.set(seq, write);
  }

  private rowOf({ instanceId, repairId }: RepairId): Row | null {
    const tenant = this.parts.tenants.find(instanceId);
    return (tenant === null ? undefined : this.selectSeq.get(repairId, tenant)) ?? null;
  }

  private seqOf(id: RepairId): number | null {
    const row = this.rowOf(id);
    return row ? integer(row, 'seq') : null;
  }
}
