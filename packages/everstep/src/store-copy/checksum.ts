/** Computes a checksum of rows that does not depend on their order, to compare the written rows with those in the database. */
import { createHash } from 'node:crypto';
import type { Columns } from '../stores/postgres/connection/first-load.js';

const SUM_BITS = 128;

/** Number and checksum of rows. */
export interface RowsChecksum {
  readonly rows: number;
  /** Checksum in hexadecimal. */
  readonly checksum: string;
}

export class ChecksumBuilder {
  private readonly columnNames: readonly string[];
  private rows = 0;
  private hashSum = 0n;

  constructor(columns: Columns) {
    this.columnNames = Object.keys(columns);
  }

  add(row: Readonly<Record<string, unknown>>): void {
    const hash = createHash('sha256');
    for (const name of this.columnNames) {
      const value = row[name] ?? null;
      // Type and length precede each value, so that different rows never produce the same input.
      if (value === null) hash.update('-');
      else if (typeof value === 'string') hash.update(`t${Buffer.byteLength(value)}:${value}`);
      else if (value instanceof Uint8Array) hash.update(`b${value.length}:`).update(value);
      else if (typeof value === 'number' || typeof value === 'boolean') hash.update(`v${value};`);
      else throw new TypeError(`column ${name} has the unsupported type ${typeof value}`);
    }
    this.rows++;
    this.hashSum = BigInt.asUintN(SUM_BITS, this.hashSum + BigInt(`0x${hash.digest('hex').slice(0, SUM_BITS / 4)}`));
  }

  result(): RowsChecksum {
    return { rows: this.rows, checksum: this.hashSum.toString(16).padStart(SUM_BITS / 4, '0') };
  }
}
