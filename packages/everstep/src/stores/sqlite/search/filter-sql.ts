/** Converts filters to SQL over the JSON of a document. Every value is bound. */
import type { FieldPath, Filter, FilterValue } from '../../../ports/stores/search-store.js';

export interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** Returns the JSON path of a field for SQLite, such as `$."a"[0][#-1]`. Names are quoted; the parser rejects quotes in them. */
export function jsonPath({ steps }: FieldPath): string {
  return `$${steps.map((step) => (typeof step === 'string' ? `."${step}"` : step < 0 ? `[#${step}]` : `[${step}]`)).join('')}`;
}

const TYPES = { string: "'text'", number: "'integer', 'real'", boolean: "'true', 'false'" } as const;
const typesOf = (value: FilterValue): string =>
  typeof value === 'boolean' ? `'${value}'` : typeof value === 'number' ? TYPES.number : TYPES.string;
/** A boolean is identified by its type only. */
const parameterOf = (value: FilterValue): string | number => (typeof value === 'boolean' ? Number(value) : value);

const negateIf = (isNegated: boolean, sql: string): string => (isNegated ? `NOT (${sql})` : sql);

/** Returns the condition of a filter. It reads the columns `content` and `metadata` of the table with the alias. */
export function filterSql(filter: Filter, tableAlias: string): Condition {
  if ('parts' in filter) {
    const conditions = filter.parts.map((part) => filterSql(part, tableAlias));
    const operator = filter.kind === 'and' ? ' AND ' : ' OR ';
    return { sql: `(${conditions.map(({ sql }) => sql).join(operator)})`, values: conditions.flatMap(({ values }) => values) };
  }
  const json = `${tableAlias}.${filter.field.of}`;
  const path = jsonPath(filter.field);
  const type = `json_type(${json}, ?)`;
  const value = `json_extract(${json}, ?)`;
  /** The type of a missing field is null, and so is every condition on it. */
  const equalsCondition = (expected: FilterValue): Condition => ({
    sql: `(${type} IN (${typesOf(expected)}) AND ${value} = ?)`,
    values: [path, path, parameterOf(expected)],
  });
  switch (filter.kind) {
    case 'compare': {
      if (filter.operator === '=') return equalsCondition(filter.value);
      if (filter.operator === '!=') {
        const { sql, values } = equalsCondition(filter.value);
        return { sql: `NOT ${sql}`, values };
      }
      return {
        sql: `(${type} IN (${typesOf(filter.value)}) AND ${value} ${filter.operator} ?)`,
        values: [path, path, parameterOf(filter.value)],
      };
    }
    case 'glob':
      return { sql: negateIf(filter.not, `${type} = 'text' AND ${value} GLOB ?`), values: [path, path, filter.pattern] };
    case 'in': {
      const conditions = filter.values.map(equalsCondition);
      return {
        sql: negateIf(filter.not, conditions.map(({ sql }) => sql).join(' OR ')),
        values: conditions.flatMap(({ values }) => values),
      };
    }
    case 'contains': {
      const types = typesOf(filter.value);
      const containsValue = `EXISTS (SELECT 1 FROM json_each(${json}, ?) e WHERE e.type IN (${types}) AND e.value = ?)`;
      return {
        sql: `(${type} IS NOT NULL AND ${negateIf(filter.not, `${type} = 'array' AND ${containsValue}`)})`,
        values: [path, path, path, parameterOf(filter.value)],
      };
    }
    case 'has':
      return { sql: `${type} IS ${filter.not ? '' : 'NOT '}NULL`, values: [path] };
  }
}
