/** Declares once how a record is stored in a table, for the statements that write it and for its rows. */
import * as read from '../../records/columns.js';
import { INSTANCE_COLUMN, instanceColumnValue } from './dialect.js';
import { joinSql, raw, type Sql, type SqlValue, sql } from './sql.js';

/** Converts between a field of a record and a column. `undefined` is a field that the record does not have. */
export interface Column<Value> {
  read(row: read.Row, column: string): Value;
  write(value: Value): SqlValue;
}

const plainColumn = <Value extends SqlValue>(reader: (row: read.Row, column: string) => Value): Column<Value> => ({
  read: reader,
  write: (value) => value,
});

export const TEXT = plainColumn(read.text);
export const NUMBER = plainColumn(read.integer);
export const FLAG = plainColumn(read.flag);
export const BYTES = plainColumn(read.bytes);

export const oneOf = <Value extends string>(values: readonly Value[]): Column<Value> =>
  plainColumn((row, column) => read.word(row, column, values));

export const json = <Value>(): Column<Value> => ({ read: read.json, write: (value) => JSON.stringify(value) });

export const nullable = <Value>(column: Column<Value>): Column<Value | null> => ({
  read: (row, name) => (row[name] === null ? null : column.read(row, name)),
  write: (value) => (value === null ? null : column.write(value)),
});

/** Returns a column that is null in the table if the record does not have the field. */
export const optional = <Value>(column: Column<Value>): Column<Value | undefined> => ({
  read: (row, name) => (row[name] === null ? undefined : column.read(row, name)),
  write: (value) => (value === undefined ? null : column.write(value)),
});

/** A column that is `false` in the table if the record does not have the field. */
export const TRUE_OR_ABSENT: Column<true | undefined> = {
  read: (row, name) => read.flag(row, name) || undefined,
  write: (value) => value === true,
};

/** A column that contains the empty string if the field is null, for a column that is never null. */
export const EMPTY_IF_NULL: Column<string | null> = {
  read: (row, name) => read.text(row, name) || null,
  write: (value) => value ?? '',
};

/** A column for each field. */
export type Columns<Stored> = {
  readonly [Field in keyof Stored]-?: Column<
    Record<string, never> extends Pick<Stored, Field> ? Stored[Field] | undefined : Stored[Field]
  >;
};

type Nullable<Stored> = { readonly [Field in keyof Stored]: Stored[Field] | null };

export interface Table<Stored> {
  /** Returns the record of a row. The row may have more columns. */
  read(row: read.Row): Stored;
  /** Returns `INSERT INTO table (...) VALUES (...)`. */
  insert(record: Stored): Sql;
  /**
   * Inserts the record or, if a row with the same `key` exists, replaces it. The row belongs to the instance, which is part
   * of the key.
   */
  replace(record: Stored, key: readonly (keyof Stored & string)[], instanceId: string): Sql;
  /** Returns the names of the columns, as in a SELECT, without the column `except`. */
  columns(alias: string, except?: keyof Stored & string): Sql;
  /** Returns `a = ..., b = ...` for all columns. A field that is null or missing becomes null. */
  assignments(record: Nullable<Stored>): Sql;
}

const snakeCase = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Declares a table. A column has the name of its field in snake case: `tokenId` is stored in `token_id`. */
export function table<Stored extends object>(name: string, columns: Columns<Stored>): Table<Stored> {
  const storedFields = Object.entries<Column<unknown>>(columns).map(([field, column]) => ({
    field,
    column,
    name: snakeCase(field),
  }));
  const names = raw(storedFields.map((column) => column.name).join(', '));
  const tableName = raw(name);
  const fieldOf = (record: object, field: string): unknown => Reflect.get(record, field);
  const valuesOf = (record: Stored) => storedFields.map(({ field, column }) => column.write(fieldOf(record, field)));
  return {
    read(row) {
      const fields = storedFields.map(({ field, column, name: columnName }) => [field, column.read(row, columnName)] as const);
      // The columns are declared for exactly the fields of the type.
      return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Stored;
    },
    insert: (record) => {
      const values = valuesOf(record);
      return sql`INSERT INTO ${tableName} (${names}) VALUES (${joinSql(values)})`;
    },
    replace: (record, key, instanceId) => {
      const values = valuesOf(record);
      const keys = raw(['', ...key.map(snakeCase)].join(', '));
      const replacedFields = storedFields.filter(({ field }) => !key.some((part) => part === field));
      const setClause = raw(replacedFields.map(({ name: columnName }) => `${columnName} = excluded.${columnName}`).join(', '));
      return sql`
        INSERT INTO ${tableName} (${INSTANCE_COLUMN}, ${names}) VALUES (${instanceColumnValue(instanceId)}, ${joinSql(values)})
        ON CONFLICT (${INSTANCE_COLUMN}${keys}) DO UPDATE SET ${setClause}`;
    },
    columns: (alias, except) =>
      raw(
        storedFields
          .filter(({ field }) => field !== except)
          .map(({ name: columnName }) => `${alias}.${columnName}`)
          .join(', '),
      ),
    assignments: (record) =>
      joinSql(
        storedFields.map(({ field, column, name: columnName }) => {
          const value = fieldOf(record, field) ?? null;
          return sql`${raw(columnName)} = ${value === null ? null : column.write(value)}`;
        }),
      ),
  };
}
