/** SQL fragments that SQLite and PostgreSQL write differently. */
import { byDialect, joinSql, raw, type Sql, sql } from './sql.js';

const NOTHING = raw('');

/**
 * Row locks. SQLite needs none, because its transactions run one at a time. `FOR_KEY_SHARE` waits for a deletion of the row
 * and keeps others from deleting it; `FOR_SHARE` does so for all changes.
 */
export const FOR_UPDATE = byDialect({ sqlite: NOTHING, postgres: raw('FOR UPDATE') });
export const FOR_SHARE = byDialect({ sqlite: NOTHING, postgres: raw('FOR SHARE') });
/** Like `FOR_UPDATE`, but skips rows that others have locked. Only for rows of one instance. */
export const SKIP_LOCKED = byDialect({ sqlite: NOTHING, postgres: raw('FOR UPDATE SKIP LOCKED') });
export const FOR_KEY_SHARE = byDialect({ sqlite: NOTHING, postgres: raw('FOR KEY SHARE') });

/**
 * Returns the condition that selects at most `limit` rows for which `condition` holds, by their keys, except rows that others have
 * locked. Rows on several servers cannot be limited and locked in one statement, so all of them are selected.
 */
export const someOf = (keys: Sql, table: string, condition: Sql, limit: number): Sql =>
  byDialect({
    sqlite: sql`(${keys}) IN (SELECT ${keys} FROM ${raw(table)} WHERE ${condition} LIMIT ${limit})`,
    postgres: sql`(${keys}) IN (SELECT ${keys} FROM ${raw(table)} WHERE ${condition} LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
    distributed: condition,
  });

/** Conditions on a flag, as the indexes on it declare them. SQLite stores flags as 0 and 1. */
export const isTrue = (column: string): Sql => byDialect({ sqlite: raw(`${column} = 1`), postgres: raw(column) });
export const isFalse = (column: string): Sql => byDialect({ sqlite: raw(`${column} = 0`), postgres: raw(`NOT ${column}`) });

/** Returns the clause that names the index for SQLite, which has no statistics and may otherwise read much more. */
export const withIndex = (name: string): Sql => byDialect({ sqlite: raw(`INDEXED BY ${name}`), postgres: NOTHING });

/** Returns the clause that selects all rows after the first `skipped` ones. */
export const skipRows = (skipped: number): Sql =>
  byDialect({ sqlite: raw(`LIMIT -1 OFFSET ${skipped}`), postgres: raw(`OFFSET ${skipped}`) });

/** The larger and the smaller of two values. Neither may be null, because the result would then be null in SQLite. */
export const greatest = (a: Sql, b: Sql): Sql => byDialect({ sqlite: sql`max(${a}, ${b})`, postgres: sql`greatest(${a}, ${b})` });
export const least = (a: Sql, b: Sql): Sql => byDialect({ sqlite: sql`min(${a}, ${b})`, postgres: sql`least(${a}, ${b})` });

/** Returns the right side of `column IN (...)` for a list of any length: one statement, prepared once. */
export const inList = (values: readonly string[]): Sql =>
  byDialect({
    sqlite: sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`,
    postgres: sql`= ANY (${values}::text[])`,
  });

/** Like `inList`, for integers. */
export const inIntegerList = (values: readonly number[]): Sql =>
  byDialect({
    sqlite: sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`,
    postgres: sql`= ANY (${values}::bigint[])`,
  });

type ListType = 'text' | 'bigint' | 'integer';
type ListRow<Types extends Readonly<Record<string, ListType>>> = Readonly<Record<keyof Types, string | number | null>>;

/** Returns records as rows of a FROM clause, with a column for each key of `types`: many rows in one statement. */
export function rowsOf<Types extends Readonly<Record<string, ListType>>>(types: Types, records: readonly ListRow<Types>[]): Sql {
  const columns = Object.keys(types);
  const arrays = Object.entries(types).map(
    ([name, type]) => sql`${records.map((record) => record[name] ?? null)}::${raw(type)}[]`,
  );
  const fields = columns.map((name, index) => `value ->> ${index} AS ${name}`).join(', ');
  const lists = records.map((record) => columns.map((name) => record[name] ?? null));
  return byDialect({
    sqlite: sql`(SELECT ${raw(fields)} FROM json_each(${JSON.stringify(lists)})) AS listed`,
    postgres: sql`unnest(${joinSql(arrays)}) AS listed (${raw(columns.join(', '))})`,
  });
}

/**
 * Rows of runs and controls belong to an instance. SQLite stores its number, `tenant`, which is 3 bytes instead of 20 in
 * every key; PostgreSQL stores its id, by which the tables can be spread over several servers.
 */
export const INSTANCE_COLUMN = byDialect({ sqlite: raw('tenant'), postgres: raw('instance_id') });

/** The value of the `INSTANCE_COLUMN`. Null in SQLite if nothing was ever written for the instance. */
export const instanceColumnValue = (instanceId: string): Sql =>
  byDialect({ sqlite: sql`(SELECT seq FROM tenant WHERE instance_id = ${instanceId})`, postgres: sql`${instanceId}` });

export const ofInstance = (instanceId: string): Sql => sql`${INSTANCE_COLUMN} = ${instanceColumnValue(instanceId)}`;
