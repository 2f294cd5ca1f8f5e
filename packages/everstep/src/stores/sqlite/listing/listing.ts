/** Finds the rows of one page from a filter and a position in a listing. */
import type { Listing, Page } from '../../../ports/stores/store.js';
import type { CreationOrder } from './creation-order.js';
import type { Facet } from './facets/facets.js';
import { intersect, type SeqRange } from './facets/intersect.js';
import type { Direction, FacetReader, Members } from './facets/members.js';

/** Returns whether a row belongs to the listing, for conditions that the sources do not cover. */
export type RowTest = (seq: number) => boolean;

/** Collects the conditions of a filter: sources to intersect, a range of rows, and tests on single rows. */
export class Selection {
  readonly direction: Direction;
  private readonly reader: FacetReader;
  private readonly tenant: number;
  private readonly sources: Members[] = [];
  private readonly tests: RowTest[] = [];
  private range: SeqRange;

  constructor(page: Page<unknown>, order: CreationOrder, reader: FacetReader, tenant: number) {
    this.direction = page.order === 'newest-first' ? 'down' : 'up';
    this.reader = reader;
    this.tenant = tenant;
    this.range = { from: 1, to: order.lastSeq() };
    if (page.horizon !== null) this.restrictToHorizon(page.horizon);
    if (page.after !== null) {
      const after = seqAt(page.after);
      this.restrictTo(this.direction === 'down' ? { from: 1, to: after - 1 } : { from: after + 1, to: this.range.to });
    }
  }

  /** Selects rows with any of the values; undefined sets no condition, an empty list matches no row. */
  anyOf(facet: Facet, values: readonly string[] | undefined): void {
    if (values) this.sources.push(this.reader.anyOf(this.tenant, facet, values, this.direction));
  }

  addSource(members: Members): void {
    this.sources.push(members);
  }

  addTest(test: RowTest): void {
    this.tests.push(test);
  }

  /** Selects rows whose value begins with `prefix`. Returns false if there are too many: the caller must then test rows. */
  withPrefix(facet: Facet, prefix: string): boolean {
    const members = this.reader.withPrefix(this.tenant, facet, prefix, this.direction);
    if (members) this.sources.push(members);
    return members !== null;
  }

  /** Selects rows created in this time, both ends inclusive, Unix ms. */
  createdWithin(order: CreationOrder, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER): void {
    if (fromMs === 0 && toMs === Number.MAX_SAFE_INTEGER) return;
    this.restrictTo(order.range(fromMs, toMs));
    this.addTest((seq) => order.isWithin(seq, fromMs, toMs));
  }

  /** Returns the selected rows in order; `allRows` is walked if the filter has no source. */
  *rows(allRows: () => Members): Generator<number> {
    const sources = this.sources.length > 0 ? this.sources : [allRows()];
    for (const seq of intersect(sources, this.range, this.direction)) {
      if (this.tests.every((test) => test(seq))) yield seq;
    }
  }

  private restrictToHorizon(horizon: string): void {
    const [position = '', ...reservedPositions] = horizon.split(',');
    this.restrictTo({ from: 1, to: seqAt(position) });
    if (reservedPositions.length === 0) return;
    const reservedSeqs = new Set(reservedPositions.map(seqAt));
    this.addTest((seq) => !reservedSeqs.has(seq));
  }

  private restrictTo(range: SeqRange): void {
    this.range = { from: Math.max(this.range.from, range.from), to: Math.min(this.range.to, range.to) };
  }
}

/** Returns the position after a row, which is the number of that row. */
export const positionOf = (seq: number): string => String(seq);

/** Returns the horizon at a row. It excludes the reserved rows, because their runs will be created later. */
export const horizonOf = (seq: number, reservedSeqs: readonly number[]): string =>
  [seq, ...reservedSeqs].map(positionOf).join(',');

function seqAt(position: string): number {
  if (!/^\d{1,15}$/.test(position)) throw new RangeError(`${JSON.stringify(position)} is not a position in a listing`);
  return Number(position);
}

/** Returns one page of `rows`, and the position at which the next page continues. */
export function pageOf<Item>(rows: Iterable<number>, limit: number, read: (seq: number) => Item): Listing<Item> {
  if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError(`limit must be a whole number of 1 or more, not ${limit}`);
  const items: Item[] = [];
  let lastSeq = 0;
  for (const seq of rows) {
    if (items.length === limit) return { items, next: positionOf(lastSeq) };
    items.push(read(seq));
    lastSeq = seq;
  }
  return { items, next: null };
}

/** A listing without items. */
export const EMPTY_LISTING = Object.freeze({ items: Object.freeze([]), next: null });
