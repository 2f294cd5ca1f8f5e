/**
 * Finds the rows of one page from a filter and a position in a listing.
 *
 * One condition of the filter leads. For each of its values, its index returns rows in the order of the listing; the first
 * rows that match the other conditions form the page. The condition that finds the fewest rows leads, if any finds few.
 * The cost of a page is therefore proportional to its size, unless each condition finds many rows but few rows match all of them.
 */
import type { Listing, Page } from '../../../ports/stores/store.js';
import { type Session, type SqlValue, unpreparedStatement } from '../connection/connection.js';
import type { ColumnType } from '../connection/row-sets.js';
import type { Engine } from '../sharding/engine.js';

const MAX_POSITION = 2n ** 63n - 1n;

/** A listing without items. */
export const EMPTY_LISTING = Object.freeze({ items: Object.freeze([]), next: null });

/** Returns the position unchanged. Throws if it cannot be a position in a listing. */
export function checkPosition(position: string): string {
  if (!/^\d{1,19}$/.test(position) || BigInt(position) > MAX_POSITION)
    throw new RangeError(`${JSON.stringify(position)} is not a position in a listing`);
  return position;
}

/** Collects the values of a composed statement and numbers them. */
export class Parameters {
  readonly values: SqlValue[] = [];
  private readonly placeholders: string[] = [];
  private readonly lengths = new Map<string, number>();

  /** Adds a value and returns its placeholder, such as `$1::text`. */
  addValue(value: SqlValue, type: ColumnType): string {
    return this.add(value, type);
  }

  /** Adds a list without duplicates, because a listing reads the rows of the leading condition value by value. */
  addList(values: readonly SqlValue[], type: ColumnType): string {
    const distinctValues = [...new Set(values)];
    const placeholder = this.add(distinctValues, `${type}[]`);
    this.lengths.set(placeholder, distinctValues.length);
    return placeholder;
  }

  /** Returns the number of values in the array; 1 for an array in the text of the statement. */
  lengthOf(array: string): number {
    return this.lengths.get(array) ?? 1;
  }

  /** Returns SQL that refers to all values, because PostgreSQL requires that a statement uses each of its values. */
  referenceAll(): string {
    return this.placeholders.map((placeholder) => `${placeholder} IS NULL`).join(' OR ');
  }

  private add(value: SqlValue, type: string): string {
    this.values.push(value);
    const placeholder = `$${this.values.length}::${type}`;
    this.placeholders.push(placeholder);
    return placeholder;
  }
}

/** A condition of a filter. */
export interface Condition {
  /** SQL that tests a row if another condition leads. */
  readonly test: string;
  /** The sources that find the rows if the condition leads. If absent, the condition never leads. */
  readonly leadSources?: readonly LeadSource[];
  /** Whether the condition leads only if it finds few rows, because it returns them in another order. */
  readonly isUnordered?: boolean;
}

/** The tables and conditions that find the rows for each `v.value` in an array. */
export interface LeadSource {
  /** SQL of the array. */
  readonly values: string;
  /** For example `run r WHERE r.workflow_url = v.value`. The listed row must have the alias of the listing. */
  readonly from: string;
  /** The source whose rows are counted. The default is `from`. */
  readonly countFrom?: string;
  /** The column that follows the value in the index. The default is the position of the listed row. */
  readonly placeColumn?: string;
  /** Whether two values can find the same row. */
  readonly canRepeatRows?: boolean;
}

/** Returns a condition on the creation time (Unix ms, inclusive), if there is one. It leads if it finds few rows. */
export function creationConditions(
  { alias, source, baseCondition = 'true' }: Candidates,
  fromDate: number | undefined,
  toDate: number | undefined,
  parameters: Parameters,
): readonly Condition[] {
  if (fromDate === undefined && toDate === undefined) return [];
  const bounds: string[] = [];
  if (fromDate !== undefined) bounds.push(`${alias}.created_at >= ${parameters.addValue(fromDate, 'bigint')}`);
  if (toDate !== undefined) bounds.push(`${alias}.created_at <= ${parameters.addValue(toDate, 'bigint')}`);
  const test = bounds.join(' AND ');
  // OFFSET 0 prevents a scan of all rows in the order of their positions.
  const countFrom = `${source} WHERE ${alias}.instance_id = $1 AND ${baseCondition} AND ${test}`;
  const from = `(SELECT * FROM ${countFrom} OFFSET 0) ${alias} WHERE true`;
  return [{ test, leadSources: [{ values: 'ARRAY[true]', from, countFrom }], isUnordered: true }];
}

/** The condition of each field of a filter, or null if it needs none. If several find equally many rows, the first one leads. */
export type Conditions<Filter> = {
  readonly [Name in keyof Filter]-?: (filterValue: NonNullable<Filter[Name]>, parameters: Parameters) => Condition | null;
};

function conditionOf<Filter, Name extends keyof Filter>(
  conditions: Conditions<Filter>,
  name: Name,
  filter: Filter,
  parameters: Parameters,
): Condition | null {
  const filterValue = filter[name];
  return filterValue === undefined || filterValue === null ? null : conditions[name](filterValue, parameters);
}

/** Returns the conditions of the fields that the filter has, in the order of `conditions`. */
export const conditionsIn = <Filter>(
  conditions: Conditions<Filter>,
  filter: Filter,
  parameters: Parameters,
): readonly Condition[] =>
  // The type of Object.keys does not contain the names of the fields.
  (Object.keys(conditions) as (keyof Filter & string)[])
    .map((name) => conditionOf(conditions, name, filter, parameters))
    .filter((condition) => condition !== null);

/** Returns whether the filter has a list without values, which no row matches. */
export const hasEmptyList = (filter: object): boolean =>
  Object.values(filter).some((filterValue) => Array.isArray(filterValue) && filterValue.length === 0);

/** The table whose rows a listing selects. */
export interface Candidates {
  /** Condition on all rows, whichever condition leads. Every lead source includes it. */
  readonly baseCondition?: string;
  /** Alias of the listed table in conditions. */
  readonly alias: string;
  /** SQL of the table with its alias. */
  readonly source: string;
  /** The columns to select, including `place`. */
  readonly columns: readonly string[];
}

const rowLimitOf = (page: Page<unknown>): number => {
  if (!Number.isSafeInteger(page.limit) || page.limit < 1)
    throw new RangeError(`limit must be a whole number of 1 or more, not ${page.limit}`);
  return page.limit + 1;
};

/** Rows of a condition are counted up to this number. A condition that finds fewer rows finds few. */
const FEW_ROWS = 2000;

/**
 * Returns FROM items that execute `rowsSql`, a query for one `v.value`, for all values. Distributed tables need a separate query
 * for each value, because there a subquery that depends on a function cannot be limited.
 */
const forEachValue = ({ isDistributed }: Engine, parameters: Parameters, values: string, rowsSql: string): readonly string[] =>
  isDistributed
    ? Array.from(
        { length: Math.max(1, parameters.lengthOf(values)) },
        (_, index) => `(${rowsSql.replaceAll('v.value', `(${values})[${index + 1}]`)}) c`,
      )
    : [`unnest(${values}) AS v(value) CROSS JOIN LATERAL (${rowsSql}) c`];

/** Returns SQL that counts the rows of each condition that can lead, up to FEW_ROWS; null if there is no choice. */
function countsSql(engine: Engine, conditions: readonly Condition[], parameters: Parameters): string | null {
  const candidates = conditions.filter(({ leadSources }) => leadSources !== undefined);
  if (candidates.length < 2 && !candidates.some(({ isUnordered }) => isUnordered)) return null;
  const counts = candidates.map(({ leadSources = [] }) => {
    const sources = leadSources.flatMap(({ values, from, countFrom }) =>
      forEachValue(engine, parameters, values, `SELECT 1 FROM ${countFrom ?? from} LIMIT ${FEW_ROWS}`).map(
        (fromItem) => `(SELECT 1 FROM ${fromItem} LIMIT ${FEW_ROWS})`,
      ),
    );
    return `(SELECT count(*)::integer FROM (${sources.join(' UNION ALL ')}) y)`;
  });
  return `SELECT ARRAY[${counts.join(', ')}] AS counts, ${parameters.referenceAll()} AS used`;
}

/** Returns the index of the condition that leads; null if none can lead. An unordered condition leads only if it finds few rows. */
async function chooseLeadingCondition(
  session: Session,
  conditionsOf: (parameters: Parameters) => readonly Condition[],
): Promise<number | null> {
  const parameters = new Parameters();
  const conditions = conditionsOf(parameters);
  const indices = conditions.flatMap(({ leadSources }, index) => (leadSources ? [index] : []));
  const sql = countsSql(session.engine, conditions, parameters);
  if (sql === null) return indices[0] ?? null;
  const [row] = await session.query(unpreparedStatement(sql), parameters.values);
  const counts: readonly unknown[] = Array.isArray(row?.counts) ? row.counts : [];
  let leadingCondition: { readonly index: number; readonly count: number } | null = null;
  for (const [countIndex, index] of indices.entries()) {
    const count = Number(counts[countIndex]);
    const canLead = count < FEW_ROWS || !conditions[index]?.isUnordered;
    if (canLead && (leadingCondition === null || count < leadingCondition.count)) leadingCondition = { index, count };
  }
  return leadingCondition?.index ?? null;
}

/**
 * Returns SQL that selects the columns of the rows of the page and one more row, in order. `conditionsOf` is called for each
 * composed statement; it must add the instance as the first value.
 */
export async function candidatesSql(
  session: Session,
  page: Page<unknown>,
  { alias, source, columns, baseCondition = 'true' }: Candidates,
  conditionsOf: (parameters: Parameters) => readonly Condition[],
  parameters: Parameters,
): Promise<string> {
  const rowLimit = rowLimitOf(page);
  const isDescending = page.order === 'newest-first';
  const [horizon, after] = [page.horizon, page.after].map((position) => (position === null ? null : checkPosition(position)));
  const leadingIndex = await chooseLeadingCondition(session, conditionsOf);
  const conditions = conditionsOf(parameters);
  const limit = parameters.addValue(rowLimit, 'integer');
  const bounds: ((place: string) => string)[] = [];
  if (typeof horizon === 'string') {
    const value = parameters.addValue(horizon, 'bigint');
    bounds.push((place) => `${place} <= ${value}`);
  }
  if (typeof after === 'string') {
    const value = parameters.addValue(after, 'bigint');
    bounds.push((place) => `${place} ${isDescending ? '<' : '>'} ${value}`);
  }
  const tests = conditions.filter((_, index) => index !== leadingIndex).map(({ test }) => test);
  const direction = isDescending ? 'DESC' : 'ASC';
  const columnsSql = columns.map((column) => `${alias}.${column}`).join(', ');
  const leadSources = leadingIndex === null ? undefined : conditions[leadingIndex]?.leadSources;
  if (!leadSources) {
    const where = [`${alias}.instance_id = $1`, baseCondition, ...bounds.map((bound) => bound(`${alias}.place`)), ...tests];
    return `SELECT ${columnsSql} FROM ${source} WHERE ${where.join(' AND ')} ORDER BY ${alias}.place ${direction} LIMIT ${limit}`;
  }
  const branches = leadSources.flatMap(({ values, from, placeColumn: place = `${alias}.place` }) => {
    const conditionsSql = [...bounds.map((bound) => bound(place)), ...tests].map((test) => ` AND ${test}`).join('');
    const rowsSql = `SELECT ${columnsSql} FROM ${from}${conditionsSql} ORDER BY ${place} ${direction} LIMIT ${limit}`;
    return forEachValue(session.engine, parameters, values, rowsSql).map((fromItem) => `SELECT c.* FROM ${fromItem}`);
  });
  const distinctSql = leadSources.some(({ canRepeatRows }) => canRepeatRows) ? 'DISTINCT ' : '';
  return `SELECT ${distinctSql}${columns.map((column) => `b.${column}`).join(', ')}
    FROM (${branches.join(' UNION ALL ')}) b ORDER BY place ${direction} LIMIT ${limit}`;
}

/** Returns one page from its rows, which may include one row of the next page. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => string,
  itemOf: (row: Row) => Item,
): Listing<Item> {
  const pageRows = rows.slice(0, limit);
  const lastRow = pageRows.at(-1);
  return { items: pageRows.map(itemOf), next: rows.length > limit && lastRow !== undefined ? placeOf(lastRow) : null };
}
