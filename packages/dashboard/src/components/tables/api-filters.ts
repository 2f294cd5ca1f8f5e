/** Filters of the API as fields and URL parameters of pages. The tables in the contract declare them. */
import { hasOneValue } from '../../../../everstep/dist/contract/filters/filter.js';
import type { Filter } from '../../../../everstep/src/contract/filters/filter.js';
import { readDuration } from '../times/read-duration.js';
import type { FilterField } from './filter-bar.js';
import { listOf, listWithWholeText, timeOf } from './filters.js';

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
  if (filter.kind === 'duration') return { kind: 'text', name, label, placeholder: 'Such as 30s or 2h' };
  if (filter.kind === 'choices') {
    const options = filter.values.map((value) => ({ value, text: textOf[value] ?? value }));
    return { kind: 'choice', name, label, anyText, options };
  }
  return { kind: hasOneValue(filter) ? 'text' : 'list', name, label, ...(wide ? { wide } : {}) };
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

/** Returns the value of a filter from a URL parameter, or undefined if it is missing or invalid. */
function parseValue(filter: Filter, text: string | undefined): Value | undefined {
  if (text === undefined || text === '') return undefined;
  if (filter.kind === 'time') return timeOf(text);
  if (filter.kind === 'duration') return readDuration(text);
  if (hasOneValue(filter)) return text;
  const mayContainComma = filter.kind === 'texts' && filter.comma === 'may-be-inside';
  const values = parseJsonList(text) ?? (mayContainComma ? listWithWholeText(text) : listOf(text)) ?? [];
  const validValues = filter.kind === 'choices' ? values.filter((value) => filter.values.includes(value)) : values;
  return validValues.length === 0 ? undefined : [...validValues];
}

/** Returns the values of all filters that are set. */
export const valuesOf = (
  table: Readonly<Record<string, Filter>>,
  parameters: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, filter]) => {
      const value = parseValue(filter, parameters[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );
