/**
 * From a filter and a place in a listing to the rows of one page.
 *
 * One part of the filter leads: its index gives rows in the order of the listing for each of its values, and of these
 * the first so many that fit the rest of the filter. So a page costs what it shows, as long as the rest of the filter
 * fits a good part of what the leading one finds.
 */
import type { Listing, Page } from '../../ports/store.js';
import type { SqlValue } from './connection.js';
import type { ColumnType } from './row-sets.js';

const LARGEST_PLACE = 2n ** 63n - 1n;

/** What a listing of nothing looks like. */
export const EMPTY_LISTING = Object.freeze({ items: Object.freeze([]), next: null });

/** Throws for what no listing gave out. */
export function placeAt(position: string): string {
  if (!/^\d{1,19}$/.test(position) || BigInt(position) > LARGEST_PLACE)
    throw new RangeError(`${JSON.stringify(position)} is not a place in a listing`);
  return position;
}

/** Values of a statement that is put together, with their numbers in it. */
export class Parameters {
  readonly values: SqlValue[] = [];

  /** `$1::text` and so on. */
  one(value: SqlValue, type: ColumnType): string {
    this.values.push(value);
    return `$${this.values.length}::${type}`;
  }

  /** Each of them once: a listing goes through what leads it value by value. */
  many(values: readonly SqlValue[], type: ColumnType): string {
    this.values.push([...new Set(values)]);
    return `$${this.values.length}::${type}[]`;
  }
}

/** A part of a filter. */
export interface Condition {
  /** The rows that fit, when another part leads. */
  readonly test: string;
  /** How to lead: tables and conditions for one `value` of `values`, an array of SQL. None: it only tests. */
  readonly lead?: Lead;
}

export interface Lead {
  readonly values: string;
  /** Such as `run r WHERE r.workflow_url = v.value`. The row that is listed has to have the alias of the listing. */
  readonly from: string;
  /** The column by which the index goes on behind the value; absent: that of the listed row. */
  readonly place?: string;
  /** Whether two values may lead to the same row. */
  readonly repeats?: boolean;
}

export interface Candidates {
  /** Alias of the listed table in conditions. */
  readonly alias: string;
  /** From where all rows come, up to the WHERE, when nothing leads. */
  readonly all: string;
  /** What of a row is needed, with `place` among it. */
  readonly columns: readonly string[];
}

const limited = (page: Page<unknown>): number => {
  if (!Number.isSafeInteger(page.limit) || page.limit < 1)
    throw new RangeError(`a page holds at least one item, not ${page.limit}`);
  return page.limit + 1;
};

/**
 * SQL of the rows of the page and one more, in its order; each has the columns. The first of the conditions that can
 * lead does.
 */
export function candidatesOf(
  page: Page<unknown>,
  { alias, all, columns }: Candidates,
  conditions: readonly Condition[],
  parameters: Parameters,
): string {
  const limit = parameters.one(limited(page), 'integer');
  const down = page.order === 'newest-first';
  const bounds: ((place: string) => string)[] = [];
  if (page.horizon !== null) {
    const horizon = parameters.one(placeAt(page.horizon), 'bigint');
    bounds.push((place) => `${place} <= ${horizon}`);
  }
  if (page.after !== null) {
    const after = parameters.one(placeAt(page.after), 'bigint');
    bounds.push((place) => `${place} ${down ? '<' : '>'} ${after}`);
  }
  const leading = conditions.find(({ lead }) => lead !== undefined);
  const tests = conditions.filter((condition) => condition !== leading).map(({ test }) => test);
  const direction = down ? 'DESC' : 'ASC';
  const select = columns.map((column) => `${alias}.${column}`).join(', ');
  const lead = leading?.lead;
  if (!lead) {
    const where = [`${alias}.instance_id = $1`, ...bounds.map((bound) => bound(`${alias}.place`)), ...tests];
    return `SELECT ${select} FROM ${all} WHERE ${where.join(' AND ')} ORDER BY ${alias}.place ${direction} LIMIT ${limit}`;
  }
  const place = lead.place ?? `${alias}.place`;
  const rest = [...bounds.map((bound) => bound(place)), ...tests].map((test) => ` AND ${test}`).join('');
  return `SELECT ${lead.repeats ? 'DISTINCT ' : ''}${columns.map((column) => `c.${column}`).join(', ')}
    FROM unnest(${lead.values}) AS v(value) CROSS JOIN LATERAL (
      SELECT ${select} FROM ${lead.from}${rest} ORDER BY ${place} ${direction} LIMIT ${limit}
    ) c ORDER BY place ${direction} LIMIT ${limit}`;
}

/** One page of rows of which there may be one too many. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => string,
  read: (row: Row) => Item,
): Listing<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(read), next: rows.length > limit && last !== undefined ? placeOf(last) : null };
}
