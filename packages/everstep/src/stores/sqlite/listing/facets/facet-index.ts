/**
 * The writing side of the facet index: which rows have which facet values. Changes of one commit to the same block are collected
 * in memory and written once, by `flush`; blocks that change often stay decoded.
 */
import type { StatementSync } from 'node:sqlite';
import { bytes, integer } from '../../connection/columns.js';
import type { Connection } from '../../connection/connection.js';
import { BLOCK_SIZE, BlockSet, blockOf, largestOffset, offsetOf } from './block-set.js';
import type { Facet, FacetValue } from './facets.js';

/** Decoded blocks in each of two generations; a block is about 700 bytes. */
const GENERATION_SIZE = 1000;

interface CachedBlock {
  readonly tenant: number;
  readonly facet: Facet;
  readonly value: string;
  readonly block: number;
  readonly members: BlockSet;
  stored: boolean;
  changed: boolean;
}

export class FacetIndex {
  private readonly selectBlock: StatementSync;
  private readonly insertBlock: StatementSync;
  private readonly updateBlock: StatementSync;
  private readonly deleteBlock: StatementSync;
  private readonly selectNewest: StatementSync;
  private young = new Map<string, CachedBlock>();
  private old = new Map<string, CachedBlock>();
  private changed: CachedBlock[] = [];

  constructor(connection: Connection) {
    const place = 'tenant = ? AND facet = ? AND value = ? AND block = ?';
    this.selectBlock = connection.prepare(`SELECT members FROM facet WHERE ${place}`);
    this.insertBlock = connection.prepare('INSERT INTO facet (members, tenant, facet, value, block) VALUES (?, ?, ?, ?, ?)');
    this.updateBlock = connection.prepare(`UPDATE facet SET members = ? WHERE ${place}`);
    this.deleteBlock = connection.prepare(`DELETE FROM facet WHERE ${place}`);
    this.selectNewest = connection.prepare(
      'SELECT block, members FROM facet WHERE tenant = ? AND facet = ? AND value = ? ORDER BY block DESC LIMIT 1',
    );
  }

  add(tenant: number, { facet, value }: FacetValue, seq: number): void {
    this.open(tenant, facet, value, blockOf(seq)).add(offsetOf(seq));
  }

  remove(tenant: number, { facet, value }: FacetValue, seq: number): void {
    this.open(tenant, facet, value, blockOf(seq)).delete(offsetOf(seq));
  }

  /** Returns the newest row with the value, as of the last flush. */
  newest(tenant: number, { facet, value }: FacetValue): number | null {
    const row = this.selectNewest.get(tenant, facet, value);
    return row ? integer(row, 'block') * BLOCK_SIZE + largestOffset(bytes(row, 'members')) : null;
  }

  /** Writes the changes. Must be called at the end of the transaction, inside it. */
  flush(): void {
    for (const entry of this.changed) {
      const { tenant, facet, value, block, members } = entry;
      if (members.size === 0) {
        if (entry.stored) this.deleteBlock.run(tenant, facet, value, block);
      } else {
        const statement = entry.stored ? this.updateBlock : this.insertBlock;
        statement.run(members.encode(), tenant, facet, value, block);
      }
      entry.stored = members.size > 0;
      entry.changed = false;
      // Most values with one member (ids) are never written again.
      if (members.size <= 1) this.young.delete(cacheKey(tenant, facet, value, block));
    }
    this.changed = [];
    if (this.young.size > GENERATION_SIZE) {
      this.old = this.young;
      this.young = new Map();
    }
  }

  /** Discards unwritten changes after a rollback. */
  forget(): void {
    this.young.clear();
    this.old.clear();
    this.changed = [];
  }

  /** Returns the block for a change by the caller. */
  private open(tenant: number, facet: Facet, value: string, block: number): BlockSet {
    const key = cacheKey(tenant, facet, value, block);
    let entry = this.young.get(key);
    if (!entry) {
      entry = this.old.get(key) ?? this.load(tenant, facet, value, block);
      this.old.delete(key);
      this.young.set(key, entry);
    }
    if (!entry.changed) {
      entry.changed = true;
      this.changed.push(entry);
    }
    return entry.members;
  }

  private load(tenant: number, facet: Facet, value: string, block: number): CachedBlock {
    const row = this.selectBlock.get(tenant, facet, value, block);
    const members = row ? BlockSet.decode(bytes(row, 'members')) : new BlockSet();
    return { tenant, facet, value, block, members, stored: row !== undefined, changed: false };
  }
}

const cacheKey = (tenant: number, facet: Facet, value: string, block: number): string => `${tenant} ${facet} ${block} ${value}`;
