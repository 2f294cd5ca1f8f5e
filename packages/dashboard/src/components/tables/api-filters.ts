/** Filters of the API as fields and URL parameters of pages. The tables in the contract declare them. */
import { hasOneValue } from '../../../../everstep/dist/contract/filters/filter.js';
import type { Filter } from '../../../../everstep/src/contract/filters/filter.js';
import { readDuration } from '../times/read-duration.js';
import type { FilterField } from './filter-bar.js';
import { listOf, listWithFullText, timeOf } from './filters.js';

export interface FieldOptions {
  /** Text of the option without a value. */
  readonly anyText?: string;
  /** Text of each option, by value. */
  readonly textOf?: Readonly<Record<string, string>>;
  readonly wide?: boolean;
}

/** Returns the field of a filter. `name` is the URL parameter. */
export function fieldOf<Name extends string>(
  name: Name,
  filter: Filter & { readonly label: string },
  { anyText = 'Any', textOf = {}, wide = false }: FieldOptions = {},
): FilterField<Name> {
  const { label } = filter;
  if (filter.kind === 'time') return { kind: 'time', name, label };
  const common = { name, label, isValid: (text: string) => parseValue(filter, text) !== null };
  if (filter.kind === 'duration')
    return { ...common, kind: 'text', placeholder: 'Such as 30s or 2h', problem: 'Enter a duration such as 30s, 5 min or 2h.' };
  if (filter.kind === 'choices') {
    const options = filter.values.map((value) => ({ value, text: textOf[value] ?? value }));
    return { ...common, kind: 'choice', anyText, options };
  }
  return { ...common, kind: hasOneValue(filter) ? 'text' : 'list', ...(wide ? { wide } : {}) };
}

/** Value of a filter in a query. */
export type Value = string | number | readonly string[];

/** Parses a list that `listText` wrote as JSON because a value contains a comma. Returns null for any other text. */
function parseJsonList(text: string): string[] | null {
  if (!text.startsWith('["')) return null;
  try {
    const values: unknown = JSON.parse(text);
    return Array.isArray(values) ? values.map(String) : null;
  } catch {
    return null;
  }
}

/** Returns the value of a filter from a URL parameter: undefined if it is missing, null if it is invalid. */
function parseValue(filter: Filter, text: string | undefined): Value | null | undefined {
  if (text === undefined || text === '') return undefined;
  if (filter.kind === 'time') return timeOf(text) ?? null;
  if (filter.kind === 'duration') return readDuration(text) ?? null;
  if (hasOneValue(filter)) return filter.kind === 'choices' && !filter.values.includes(text) ? null : text;
  const mayContainComma = filter.kind === 'texts' && filter.comma === 'may-be-inside';
  const values = parseJsonList(text) ?? (mayContainComma ? listWithFullText(text) : listOf(text)) ?? [];
  if (values.length === 0) return null;
  return filter.kind === 'choices' && !values.every((value) => filter.values.includes(value)) ? null : [...values];
}

/**
 * Returns the values of all filters that are set. Invalid values are omitted, so the result matches more than the user asked for:
 * check them with `invalidNamesOf` or `invalidFieldsOf` before you use it.
 */
export const valuesOf = (
  table: Readonly<Record<string, Filter>>,
  parameters: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, filter]) => {
      const value = parseValue(filter, parameters[name]);
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );

/** Returns the names of the filters whose values are invalid. */
export const invalidNamesOf = <Name extends string>(
  table: Readonly<Record<Name, Filter>>,
  parameters: Readonly<Record<string, string | undefined>>,
): readonly Name[] =>
  // Object.keys returns the names of the table.
  (Object.keys(table) as Name[]).filter((name) => parseValue(table[name], parameters[name]) === null);
