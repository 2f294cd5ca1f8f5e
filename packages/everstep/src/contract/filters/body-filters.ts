/** Schemas of filters in request bodies. */
import Type, { type TOptional, type TSchema, type TUnsafe } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { patternOption } from '../patterns.js';
import { type Filter, type FilterTable, hasOneValue, type OneOrMoreFilters, type RequestFilters } from './filter.js';

/** Schema of one value of the filter. */
export function valueSchema(filter: Filter, options: { readonly description?: string } = {}): TSchema {
  switch (filter.kind) {
    case 'time':
    case 'duration':
      return Type.Integer({ minimum: 0, format: 'int64', ...options });
    case 'text':
    case 'texts':
      return Type.String({ minLength: 1, maxLength: LIMITS[filter.maxLength], ...options });
    case 'patterns':
      return Type.String({ ...patternOption(filter.pattern), ...options });
    case 'choices':
      return Type.Enum([...filter.values], { type: 'string', ...options });
    case 'numbers':
      return Type.Integer({ minimum: filter.minimum, maximum: filter.maximum, ...options });
  }
}

function maxItemsOf(filter: Filter): number {
  if (filter.kind === 'choices') return filter.values.length;
  return LIMITS[(filter.kind === 'texts' ? filter.maxItems : undefined) ?? 'maxFilterValues'];
}
const arrayOptions = (filter: Filter) => ({ minItems: 1, maxItems: maxItemsOf(filter) });

/** Optional properties of a schema, one for each filter. */
export type FilterProperties<Values extends object> = {
  -readonly [Name in keyof Values]-?: TOptional<TUnsafe<NonNullable<Values[Name]>>>;
};

/** Returns the properties of a schema, one for each filter of the table. */
export const propertiesOf = <Values extends object>(
  table: FilterTable,
  schemaOf: (filter: Filter) => TSchema,
): FilterProperties<Values> =>
  Object.fromEntries(
    Object.entries(table).map(([name, filter]) => [name, Type.Optional(schemaOf(filter))]),
  ) as FilterProperties<Values>;

/** Properties of a body. A filter with several values is an array. */
export const bodyFilters = <Table extends FilterTable>(table: Table): FilterProperties<RequestFilters<Table>> =>
  propertiesOf<RequestFilters<Table>>(table, (filter) => {
    const { description } = filter;
    if (hasOneValue(filter)) return valueSchema(filter, { description });
    return Type.Array(valueSchema(filter), {
      ...arrayOptions(filter),
      description: `${description}. Matches any of the given values.`,
    });
  });

/** Properties of a body in which a filter with several values is an array, or one value. */
export const oneOrMoreFilters = <Table extends FilterTable>(table: Table): FilterProperties<OneOrMoreFilters<Table>> =>
  propertiesOf<OneOrMoreFilters<Table>>(table, (filter) => {
    const { description } = filter;
    if (hasOneValue(filter)) return valueSchema(filter, { description });
    return Type.Union([valueSchema(filter), Type.Array(valueSchema(filter), arrayOptions(filter))], {
      description: `${description}. Give one value, or several to match any of them.`,
    });
  });
