/**
 * The writing side of the facet index: which rows have which facet values. Changes of one commit to the same block are collected
 * in memory and written once, by `flush`; blocks that change often stay decoded.
 */
import type { StatementSync } from 'node:sqlite';
import { bytes, integer } from '../../connection/columns.js';
import type { Connection } from '../../connection/connection.js';
import { BLOCK_SIZE, BlockSet, blockOf, largestOffset, offsetOf } from './block-set.js';
import type { Facet, FacetValue } from './facets.js';

/** Maximum number of decoded blocks in each of two generations; a block is about 700 bytes. */
const GENERATION_SIZE = 1000;

interface CachedBlock {
  readonly tenant: number;
  readonly facet: Facet;
  readonly value: string;
  readonly block: number;
  readonly members: BlockSet;
  isStored: boolean;
  isChanged: boolean;
}

export class FacetIndex {
  private readonly selectBlock: StatementSync;
  private readonly insertBlock: StatementSync;
  private readonly updateBlock: StatementSync;
  private readonly deleteBlock: StatementSync;
  private readonly selectNewest: StatementSync;
  private youngBlocks = new Map<string, CachedBlock>();
  private oldBlocks = new Map<string, CachedBlock>();
  private changedBlocks: CachedBlock[] = [];

  constructor(connection: Connection) {
    const blockKey = 'tenant = ? AND facet = ? AND value = ? AND block = ?';
    this.selectBlock = connection.prepare(`SELECT members FROM facet WHERE ${blockKey}`);
    this.insertBlock = connection.prepare('INSERT INTO facet (members, tenant, facet, value, block) VALUES (?, ?, ?, ?, ?)');
    this.updateBlock = connection.prepare(`UPDATE facet SET members = ? WHERE ${blockKey}`);
    this.deleteBlock = connection.prepare(`DELETE FROM facet WHERE ${blockKey}`);
    this.selectNewest = connection.prepare(
      'SELECT block, members FROM facet WHERE tenant = ? AND facet = ? AND value = ? ORDER BY block DESC LIMIT 1',
    );
  }

  add(tenant: number, { facet, value }: FacetValue, seq: number): void {
    this.membersToChange(tenant, facet, value, blockOf(seq)).add(offsetOf(seq));
  }

  remove(tenant: number, { facet, value }: FacetValue, seq: number): void {
    this.membersToChange(tenant, facet, value, blockOf(seq)).delete(offsetOf(seq));
  }

  /** Returns the newest row with the value, as of the last flush. */
  newest(tenant: number, { facet, value }: FacetValue): number | null {
    const row = this.selectNewest.get(tenant, facet, value);
    return row ? integer(row, 'block') * BLOCK_SIZE + largestOffset(bytes(row, 'members')) : null;
  }

  /** Writes the changes. Must be called at the end of the transaction, inside it. */
  flush(): void {
    for (const entry of this.changedBlocks) {
      const { tenant, facet, value, block, members } = entry;
      if (members.size === 0) {
        if (entry.isStored) this.deleteBlock.run(tenant, facet, value, block);
      } else {
        const statement = entry.isStored ? this.updateBlock : this.insertBlock;
        statement.run(members.encode(), tenant, facet, value, block);
      }
      entry.isStored = members.size > 0;
      entry.isChanged = false;
      // Most values with one member (ids) are never written again.
      if (members.size <= 1) this.youngBlocks.delete(cacheKey(tenant, facet, value, block));
    }
    this.changedBlocks = [];
    if (this.youngBlocks.size > GENERATION_SIZE) {
      this.oldBlocks = this.youngBlocks;
      this.youngBlocks = new Map();
    }
  }

  /** Discards unwritten changes after a rollback. */
  forget(): void {
    this.youngBlocks.clear();
    this.oldBlocks.clear();
    this.changedBlocks = [];
  }

  /** Returns the members of a block, which the caller changes. */
  private membersToChange(tenant: number, facet: Facet, value: string, block: number): BlockSet {
    const key = cacheKey(tenant, facet, value, block);
    let entry = this.youngBlocks.get(key);
    if (!entry) {
      entry = this.oldBlocks.get(key) ?? this.load(tenant, facet, value, block);
      this.oldBlocks.delete(key);
      this.youngBlocks.set(key, entry);
    }
    if (!entry.isChanged) {
      entry.isChanged = true;
      this.changedBlocks.push(entry);
    }
    return entry.members;
  }

  private load(tenant: number, facet: Facet, value: string, block: number): CachedBlock {
    const row = this.selectBlock.get(tenant, facet, value, block);
    const members = row ? BlockSet.decode(bytes(row, 'members')) : new BlockSet();
    return { tenant, facet, value, block, members, isStored: row !== undefined, isChanged: false };
  }
}

const cacheKey = (tenant: number, facet: Facet, value: string, block: number): string => `${tenant} ${facet} ${block} ${value}`;
