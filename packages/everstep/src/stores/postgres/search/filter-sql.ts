/** Converts filters to SQL over the JSON of a document. Every value is passed as a parameter. */
import type { FieldPath, Filter, FilterValue } from '../../../ports/stores/search-store.js';
import type { SqlValue } from '../connection/connection.js';

/** Collects the values of a statement and numbers them. */
export class Values {
  readonly list: SqlValue[] = [];

  /** Adds a value and returns its placeholder with its type. */
  add(value: SqlValue, type: string): string {
    this.list.push(value);
    return `$${this.list.length}::${type}`;
  }
}

/** Converts a pattern with `*`, `?` and `[a-z]` to a regular expression for whole texts. An unclosed bracket matches no text. */
export function regexOf(pattern: string): string {
  let regex = '';
  for (let index = 0; index < pattern.length; index++) {
    const char = pattern.charAt(index);
    if (char === '*') regex += '.*';
    else if (char === '?') regex += '.';
    else if (char === '[') {
      // A closing bracket in the first position is one of the characters.
      const negationLength = pattern[index + 1] === '^' ? 1 : 0;
      const end = pattern.indexOf(']', index + 2 + negationLength);
      if (end < 0) return '(?!)';
      const characters = pattern.slice(index + 1 + negationLength, end).replace(/[\\[\]^]/g, '\\$&');
      regex += `[${negationLength ? '^' : ''}${characters}]`;
      index = end;
    } else regex += char.replace(/[\\^$.|+(){}\]]/g, '\\$&');
  }
  return `^(?:${regex})$`;
}

/** Returns SQL for the value of the field as jsonb; SQL NULL if there is none. Numbers in a path select items of arrays only. */
function fieldSql({ of, steps }: FieldPath, json: string, values: Values): string {
  return steps.reduce<string>(
    (value, step) =>
      typeof step === 'string'
        ? `(${value} -> ${values.add(step, 'text')})`
        : `(CASE WHEN jsonb_typeof(${value}) = 'array' THEN ${value} -> ${values.add(step, 'integer')} END)`,
    `${json}.${of}`,
  );
}

/** Returns a placeholder for the value as jsonb. JSON values are equal only if they have the same type. */
const jsonbValue = (value: FilterValue, values: Values): string => values.add(JSON.stringify(value), 'jsonb');

/** Returns SQL for a comparison. It is false if the field has another type, and SQL NULL if there is no such field. */
function comparisonSql(field: string, operator: '<' | '<=' | '>' | '>=', value: FilterValue, values: Values): string {
  // Two different booleans have no order.
  if (typeof value === 'boolean')
    return operator.endsWith('=') ? `(${field} = ${jsonbValue(value, values)})` : `(${field} <> ${field})`;
  const [type, cast, bound] =
    typeof value === 'number'
      ? (['number', `(${field} #>> '{}')::numeric`, values.add(value, 'numeric')] as const)
      : (['string', `(${field} #>> '{}') COLLATE "C"`, values.add(value, 'text')] as const);
  return `(CASE WHEN jsonb_typeof(${field}) = '${type}' THEN ${cast} ${operator} ${bound} ELSE ${field} <> ${field} END)`;
}

const negateIf = (isNegated: boolean, sql: string): string => (isNegated ? `NOT (${sql})` : sql);

/** Returns the SQL of a filter. `json` has the columns `content` and `metadata`, as jsonb. */
export function filterSql(filter: Filter, json: string, values: Values): string {
  if ('parts' in filter) {
    const parts = filter.parts.map((part) => filterSql(part, json, values));
    return `(${parts.join(filter.kind === 'and' ? ' AND ' : ' OR ')})`;
  }
  const field = fieldSql(filter.field, json, values);
  switch (filter.kind) {
    case 'compare':
      if (filter.operator === '=') return `(${field} = ${jsonbValue(filter.value, values)})`;
      if (filter.operator === '!=') return `(${field} <> ${jsonbValue(filter.value, values)})`;
      return comparisonSql(field, filter.operator, filter.value, values);
    case 'glob': {
      const matches = `jsonb_typeof(${field}) = 'string' AND (${field} #>> '{}') COLLATE "C" ~ ${values.add(regexOf(filter.pattern), 'text')}`;
      return `(${negateIf(filter.not, matches)})`;
    }
    case 'in': {
      const parts = filter.values.map((value) => `${field} = ${jsonbValue(value, values)}`);
      return `(${negateIf(filter.not, parts.join(' OR '))})`;
    }
    case 'contains': {
      const containsValue = `jsonb_typeof(${field}) = 'array' AND ${field} @> ${jsonbValue(filter.value, values)}`;
      return `(${field} IS NOT NULL AND ${negateIf(filter.not, containsValue)})`;
    }
    case 'has':
      return `(${field} IS ${filter.not ? '' : 'NOT '}NULL)`;
  }
}
