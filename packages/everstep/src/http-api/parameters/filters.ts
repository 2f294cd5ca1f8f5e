/** Converts the filters of requests to store filters and back, according to the table that declares them. */
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

/** Returns the query parameters of the filters in the table. */
export const queryFilters = <Table extends FilterTable>(table: Table): FilterProperties<RequestFilters<Table>> =>
  propertiesOf<RequestFilters<Table>>(table, querySchema);

function storeValue(filter: Filter, value: unknown): unknown {
  if (isSingle(filter)) return value;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  const storedChoices = filter.kind === 'choices' ? filter.stored : undefined;
  return storedChoices === undefined ? values : values.map((choice) => storedChoices[String(choice)]);
}

/**
 * Returns the store filter, without fields for filters that are absent from the request. If several filters of a request have the
 * same field, the first one in the table applies.
 */
export function storeFilterOf<Table extends FilterTable>(
  table: Table,
  requestFilters: OneOrMoreFilters<Table>,
): StoredFilters<Table> {
  const filter: Record<string, unknown> = {};
  for (const [name, declaration] of Object.entries(table)) {
    const value = requestFilters[name];
    if (value !== undefined && filter[declaration.field] === undefined)
      filter[declaration.field] = storeValue(declaration, value);
  }
  // The schemas have validated each value, and its kind determines the value of the store filter.
  return filter as StoredFilters<Table>;
}

/** Returns the request filters of a store filter. The table must not contain filters with `stored` or `hasOneValue`. */
export function requestFiltersOf<Table extends FilterTable>(table: Table, filter: StoredFilters<Table>): RequestFilters<Table> {
  const storeFields: Readonly<Record<string, unknown>> = filter;
  const requestFilters: Record<string, unknown> = {};
  for (const [name, { field }] of Object.entries(table)) {
    const value = storeFields[field];
    if (value !== undefined) requestFilters[name] = Array.isArray(value) ? [...value] : value;
  }
  // The store filter was converted from a request that the schemas had validated.
  return requestFilters as RequestFilters<Table>;
}
