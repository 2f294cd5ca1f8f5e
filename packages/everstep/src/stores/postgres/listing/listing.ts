/**
 * From a filter and a place in a listing to the rows of one page.
 *
 * One part of the filter leads: its index gives rows in the order of the listing for each of its values, and of these
 * the first so many that fit the rest of the filter. It is the one that finds the fewest rows, if any finds few. So a page
 * costs what it shows, unless every part of the filter finds many rows and all of them together hardly any.
 */
import type { Listing, Page } from '../../../ports/stores/store.js';
import { planned, type Session, type SqlValue } from '../connection/connection.js';
import type { ColumnType } from '../connection/row-sets.js';

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
  private readonly names: string[] = [];

  /** `$1::text` and so on. */
  one(value: SqlValue, type: ColumnType): string {
    return this.add(value, type);
  }

  /** Each of them once: a listing goes through what leads it value by value. */
  many(values: readonly SqlValue[], type: ColumnType): string {
    return this.add([...new Set(values)], `${type}[]`);
  }

  /** Names all of them: the server wants each value of a statement to be used. */
  used(): string {
    return this.names.map((name) => `${name} IS NULL`).join(' OR ');
  }

  private add(value: SqlValue, type: string): string {
    this.values.push(value);
    const name = `$${this.values.length}::${type}`;
    this.names.push(name);
    return name;
  }
}

/** A part of a filter. */
export interface Condition {
  /** The rows that fit, when another part leads. */
  readonly test: string;
  /** How to lead, from one or several tables. Absent: it only tests. */
  readonly leads?: readonly Lead[];
  /** It leads only when it finds few rows: it gives them in another order. */
  readonly unordered?: boolean;
}

/** Tables and conditions for one `value` of `values`, an array of SQL. */
export interface Lead {
  readonly values: string;
  /** Such as `run r WHERE r.workflow_url = v.value`. The row that is listed has to have the alias of the listing. */
  readonly from: string;
  /** The same as far as it has to be counted; absent: `from`. */
  readonly counted?: string;
  /** The column by which the index goes on behind the value; absent: that of the listed row. */
  readonly place?: string;
  /** Whether two values may lead to the same row. */
  readonly repeats?: boolean;
}

/** Rows created in this time lead when they are few; both ends inclusive, Unix ms. */
export function createdWithin(
  { alias, all, within = 'true' }: Candidates,
  fromDate: number | undefined,
  toDate: number | undefined,
  parameters: Parameters,
): readonly Condition[] {
  if (fromDate === undefined && toDate === undefined) return [];
  const bounds: string[] = [];
  if (fromDate !== undefined) bounds.push(`${alias}.created_at >= ${parameters.one(fromDate, 'bigint')}`);
  if (toDate !== undefined) bounds.push(`${alias}.created_at <= ${parameters.one(toDate, 'bigint')}`);
  const test = bounds.join(' AND ');
  // OFFSET 0: not in the order of places, in which the server would have to go past all others.
  const counted = `${all} WHERE ${alias}.instance_id = $1 AND ${within} AND ${test}`;
  const from = `(SELECT * FROM ${counted} OFFSET 0) ${alias} WHERE true`;
  return [{ test, leads: [{ values: 'ARRAY[true]', from, counted }], unordered: true }];
}

export interface Candidates {
  /** What narrows down the rows, whatever leads; every lead has it as well. Absent: nothing. */
  readonly within?: string;
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

/** What a leading part finds is counted up to here. */
const FEW = 2000;

/** SQL that counts, for each condition that can lead, how many rows it finds, up to FEW; null when there is no choice. */
function countsOf(conditions: readonly Condition[], parameters: Parameters): string | null {
  const leading = conditions.filter(({ leads }) => leads !== undefined);
  if (leading.length < 2 && !leading.some(({ unordered }) => unordered)) return null;
  const counts = leading.map(({ leads = [] }) => {
    const found = leads.map(
      ({ values, from, counted }) => `(SELECT 1 FROM unnest(${values}) AS v(value) CROSS JOIN LATERAL (
        SELECT 1 FROM ${counted ?? from} LIMIT ${FEW}) x LIMIT ${FEW})`,
    );
    return `(SELECT count(*)::integer FROM (${found.join(' UNION ALL ')}) y)`;
  });
  return `SELECT ARRAY[${counts.join(', ')}] AS counts, ${parameters.used()} AS used`;
}

/** The condition that finds the fewest rows, if those are few; else the first of those that give them in order. */
async function leadingOf(
  session: Session,
  conditionsOf: (parameters: Parameters) => readonly Condition[],
): Promise<number | null> {
  const parameters = new Parameters();
  const conditions = conditionsOf(parameters);
  const indices = conditions.flatMap(({ leads }, index) => (leads ? [index] : []));
  const sql = countsOf(conditions, parameters);
  if (sql === null) return indices[0] ?? null;
  const [row] = await session.query(planned(sql), parameters.values);
  const counts: readonly unknown[] = Array.isArray(row?.counts) ? row.counts : [];
  let best: { readonly index: number; readonly count: number } | null = null;
  for (const [place, index] of indices.entries()) {
    const count = Number(counts[place]);
    const fits = count < FEW || !conditions[index]?.unordered;
    if (fits && (best === null || count < best.count)) best = { index, count };
  }
  return best?.index ?? null;
}

/**
 * SQL of the rows of the page and one more, in its order; each has the columns. `conditionsOf` is called for each
 * statement that is put together; the instance is its first value.
 */
export async function candidatesOf(
  session: Session,
  page: Page<unknown>,
  { alias, all, columns, within = 'true' }: Candidates,
  conditionsOf: (parameters: Parameters) => readonly Condition[],
  parameters: Parameters,
): Promise<string> {
  const most = limited(page);
  const down = page.order === 'newest-first';
  const [horizon, after] = [page.horizon, page.after].map((position) => (position === null ? null : placeAt(position)));
  const leadingIndex = await leadingOf(session, conditionsOf);
  const conditions = conditionsOf(parameters);
  const limit = parameters.one(most, 'integer');
  const bounds: ((place: string) => string)[] = [];
  if (typeof horizon === 'string') {
    const value = parameters.one(horizon, 'bigint');
    bounds.push((place) => `${place} <= ${value}`);
  }
  if (typeof after === 'string') {
    const value = parameters.one(after, 'bigint');
    bounds.push((place) => `${place} ${down ? '<' : '>'} ${value}`);
  }
  const tests = conditions.filter((_, index) => index !== leadingIndex).map(({ test }) => test);
  const direction = down ? 'DESC' : 'ASC';
  const select = columns.map((column) => `${alias}.${column}`).join(', ');
  const leads = leadingIndex === null ? undefined : conditions[leadingIndex]?.leads;
  if (!leads) {
    const where = [`${alias}.instance_id = $1`, within, ...bounds.map((bound) => bound(`${alias}.place`)), ...tests];
    return `SELECT ${select} FROM ${all} WHERE ${where.join(' AND ')} ORDER BY ${alias}.place ${direction} LIMIT ${limit}`;
  }
  const branches = leads.map(({ values, from, place = `${alias}.place` }) => {
    const rest = [...bounds.map((bound) => bound(place)), ...tests].map((test) => ` AND ${test}`).join('');
    return `SELECT c.* FROM unnest(${values}) AS v(value) CROSS JOIN LATERAL (
      SELECT ${select} FROM ${from}${rest} ORDER BY ${place} ${direction} LIMIT ${limit}) c`;
  });
  const distinct = leads.some(({ repeats }) => repeats) ? 'DISTINCT ' : '';
  return `SELECT ${distinct}${columns.map((column) => `b.${column}`).join(', ')}
    FROM (${branches.join(' UNION ALL ')}) b ORDER BY place ${direction} LIMIT ${limit}`;
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
