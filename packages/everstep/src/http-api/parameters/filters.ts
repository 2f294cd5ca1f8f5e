/** Converts filters of requests to store filters and back, with the table in which they are declared. */
import type { TSchema } from 'typebox';
import { type FilterProperties, propertiesOf, valueSchema } from '../../contract/filters/body-filters.js';
import {
  type Filter,
  type FilterTable,
  hasOneValue,
  isSingle,
  type OneOrMoreFilters,
  type RequestFilters,
  type StoredFilters,
} from '../../contract/filters/filter.js';
import { AnyOf } from './multi-value.js';

const querySchema = (filter: Filter): TSchema => {
  const { description } = filter;
  if (hasOneValue(filter)) return valueSchema(filter, { description });
  return AnyOf(valueSchema(filter), description, filter.kind === 'texts' ? filter.comma : undefined);
};

/** Query parameters of the filters. */
export const queryFilters = <Table extends FilterTable>(table: Table): FilterProperties<RequestFilters<Table>> =>
  propertiesOf<RequestFilters<Table>>(table, querySchema);

function storedValue(filter: Filter, value: unknown): unknown {
  if (isSingle(filter)) return value;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  const stored = filter.kind === 'choices' ? filter.stored : undefined;
  return stored === undefined ? values : values.map((value) => stored[String(value)]);
}

/**
 * Returns the store filter. Filters that are not given are absent. If two filters have the same field, the first one that
 * is given applies.
 */
export function storeFilterOf<Table extends FilterTable>(
  table: Table,
  requestFilters: OneOrMoreFilters<Table>,
): StoredFilters<Table> {
  const filter: Record<string, unknown> = {};
  for (const [name, declared] of Object.entries(table)) {
    const value = requestFilters[name];
    if (value !== undefined && filter[declared.field] === undefined) filter[declared.field] = storedValue(declared, value);
  }
  // The schemas have checked each value, and its kind says what is stored.
  return filter as StoredFilters<Table>;
}

/** Returns the filters of the request that a store filter was made from. The table has no filter with `stored` or `one`. */
export function requestFiltersOf<Table extends FilterTable>(table: Table, filter: StoredFilters<Table>): RequestFilters<Table> {
  const stored: Readonly<Record<string, unknown>> = filter;
  const requestFilters: Record<string, unknown> = {};
  for (const [name, { field }] of Object.entries(table)) {
    const value = stored[field];
    if (value !== undefined) requestFilters[name] = Array.isArray(value) ? [...value] : value;
  }
  // Each value was stored from a request that the schemas had checked.
  return requestFilters as RequestFilters<Table>;
}
