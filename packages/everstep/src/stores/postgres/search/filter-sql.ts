/** Converts filters to SQL over the JSON of a document. Every value is bound. */
import type { FieldPath, Filter, FilterValue } from '../../../ports/stores/search-store.js';
import type { SqlValue } from '../connection/connection.js';

/** The values of one statement: each gets the next number. */
export class Values {
  readonly list: SqlValue[] = [];

  /** Adds a value and returns its placeholder with its type. */
  add(value: SqlValue, type: string): string {
    this.list.push(value);
    return `$${this.list.length}::${type}`;
  }
}

/** Converts a pattern with `*`, `?` and `[a-z]` to a regular expression for the whole text. An unclosed bracket matches nothing. */
export function regexOf(pattern: string): string {
  let regex = '';
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern.charAt(at);
    if (char === '*') regex += '.*';
    else if (char === '?') regex += '.';
    else if (char === '[') {
      // A bracket in first position is one of the characters.
      const not = pattern[at + 1] === '^' ? 1 : 0;
      const end = pattern.indexOf(']', at + 2 + not);
      if (end < 0) return '(?!)';
      const inside = pattern.slice(at + 1 + not, end).replace(/[\\[\]^]/g, '\\$&');
      regex += `[${not ? '^' : ''}${inside}]`;
      at = end;
    } else regex += char.replace(/[\\^$.|+(){}\]]/g, '\\$&');
  }
  return `^(?:${regex})$`;
}

/** Returns SQL for the value of the field as jsonb; null if there is none. Only an array has positions. */
function fieldOf({ of, steps }: FieldPath, json: string, values: Values): string {
  return steps.reduce<string>(
    (value, step) =>
      typeof step === 'string'
        ? `(${value} -> ${values.add(step, 'text')})`
        : `(CASE WHEN jsonb_typeof(${value}) = 'array' THEN ${value} -> ${values.add(step, 'integer')} END)`,
    `${json}.${of}`,
  );
}

/** Returns the value as jsonb. JSON values are equal only if they have the same type. */
const jsonOf = (value: FilterValue, values: Values): string => values.add(JSON.stringify(value), 'jsonb');

/** Returns SQL for a comparison: false if the field has another type, null if there is none. */
function comparisonSql(field: string, operator: '<' | '<=' | '>' | '>=', value: FilterValue, values: Values): string {
  // Two different booleans have no order.
  if (typeof value === 'boolean')
    return operator.endsWith('=') ? `(${field} = ${jsonOf(value, values)})` : `(${field} <> ${field})`;
  const [type, cast, bound] =
    typeof value === 'number'
      ? (['number', `(${field} #>> '{}')::numeric`, values.add(value, 'numeric')] as const)
      : (['string', `(${field} #>> '{}') COLLATE "C"`, values.add(value, 'text')] as const);
  return `(CASE WHEN jsonb_typeof(${field}) = '${type}' THEN ${cast} ${operator} ${bound} ELSE ${field} <> ${field} END)`;
}

const negateIf = (not: boolean, sql: string): string => (not ? `NOT (${sql})` : sql);

/** Returns the SQL of a filter. `json` has the columns `content` and `metadata`, as jsonb. */
export function filterSql(filter: Filter, json: string, values: Values): string {
  if ('parts' in filter) {
    const parts = filter.parts.map((part) => filterSql(part, json, values));
    return `(${parts.join(filter.kind === 'and' ? ' AND ' : ' OR ')})`;
  }
  const field = fieldOf(filter.field, json, values);
  switch (filter.kind) {
    case 'compare':
      if (filter.operator === '=') return `(${field} = ${jsonOf(filter.value, values)})`;
      if (filter.operator === '!=') return `(${field} <> ${jsonOf(filter.value, values)})`;
      return comparisonSql(field, filter.operator, filter.value, values);
    case 'glob': {
      const matches = `jsonb_typeof(${field}) = 'string' AND (${field} #>> '{}') COLLATE "C" ~ ${values.add(regexOf(filter.pattern), 'text')}`;
      return `(${negateIf(filter.not, matches)})`;
    }
    case 'in': {
      const parts = filter.values.map((value) => `${field} = ${jsonOf(value, values)}`);
      return `(${negateIf(filter.not, parts.join(' OR '))})`;
    }
    case 'contains': {
      const has = `jsonb_typeof(${field}) = 'array' AND ${field} @> ${jsonOf(filter.value, values)}`;
      return `(${field} IS NOT NULL AND ${negateIf(filter.not, has)})`;
    }
    case 'has':
      return `(${field} IS ${filter.not ? '' : 'NOT '}NULL)`;
  }
}
