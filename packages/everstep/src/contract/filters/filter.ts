/**
 * Declaration of a filter. Tables of filters determine the schemas of queries and bodies, the conversion to a store filter, the
 * options of the command line and the fields of the dashboard. This file and the tables import only types and lists of states,
 * because the dashboard loads them.
 */
import type { LIMITS } from '../../config/limits.js';
import type { PatternName } from '../patterns.js';

/**
 * How a comma in a query parameter is interpreted.
 * - `separates`: a comma separates values, because no value can contain one.
 * - `may-be-inside`: a value can contain a comma. A parameter that is given once matches both as a whole and split at its
 * commas. A repeated parameter is not split.
 * - `before-a-url`: like `may-be-inside`, but split only where another URL follows. For URL prefixes, because part of a
 * prefix would match more than the whole prefix.
 * - `before-a-run`: like `may-be-inside`, but split only where the name of another run follows: a time and a dot.
 */
export type CommaRule = 'separates' | 'may-be-inside' | 'before-a-url' | 'before-a-run';

type LimitName = keyof typeof LIMITS;

/**
 * Values that a filter accepts. Except for `time`, `duration` and `text`, the store filter has a list, of which any value
 * matches.
 */
type FilterValues =
  /** A time in Unix milliseconds, inclusive. */
  | { readonly kind: 'time' }
  /** A duration in milliseconds, inclusive. */
  | { readonly kind: 'duration' }
  | { readonly kind: 'text'; readonly maxLength: LimitName }
  /** If `hasOneValue` is set, a request has at most one value. A body has at most `maxItems` values; default: `maxFilterValues`. */
  | {
      readonly kind: 'texts';
      readonly maxLength: LimitName;
      readonly maxItems?: LimitName;
      readonly comma?: CommaRule;
      readonly hasOneValue?: true;
    }
  /** Texts that match a pattern. */
  | { readonly kind: 'patterns'; readonly pattern: PatternName }
  /** `stored` maps the values of the request to those of the store filter. By default they are the same. */
  | {
      readonly kind: 'choices';
      readonly values: readonly string[];
      readonly stored?: Readonly<Record<string, string>>;
      readonly hasOneValue?: true;
    }
  | { readonly kind: 'numbers'; readonly minimum: number; readonly maximum: number };

/** A filter of the API. */
export type Filter<Field extends string = string> = FilterValues & {
  /** Field of the store filter. */
  readonly field: Field;
  /** Documentation: a noun phrase without a period if the filter accepts several values, otherwise a sentence. */
  readonly description: string;
  /** Name in the dashboard, which shows only filters that have one. */
  readonly label?: string;
  /** Option of the command line, if there is one, and its help, which follows "runs" or "dead letters". */
  readonly option?: { readonly flag: string; readonly help: string };
};

/** Returns whether the store filter has one value instead of a list. */
export const isSingle = ({ kind }: Filter): boolean => kind === 'time' || kind === 'duration' || kind === 'text';

/** Returns whether a request has at most one value of the filter. */
export const hasOneValue = (filter: Filter): boolean =>
  isSingle(filter) || ('hasOneValue' in filter && filter.hasOneValue === true);

/** Filters by their names in requests. */
export type FilterTable<Field extends string = string> = Readonly<Record<string, Filter<Field>>>;

type OneValue<F> = F extends { readonly kind: 'time' | 'duration' | 'numbers' }
  ? number
  : F extends { readonly kind: 'choices'; readonly values: readonly (infer Value)[] }
    ? Value
    : string;

/** Value of a filter in a request. */
type RequestValue<F> = F extends { readonly kind: 'time' | 'duration' | 'text' } | { readonly hasOneValue: true }
  ? OneValue<F>
  : OneValue<F>[];

/** Value of a filter in a store filter. */
type StoreValue<F> = F extends { readonly kind: 'time' | 'duration' | 'text' }
  ? OneValue<F>
  : readonly (F extends { readonly stored: Readonly<Record<string, infer Value>> } ? Value : OneValue<F>)[];

/** Filters of a request. */
export type RequestFilters<Table extends FilterTable> = { -readonly [Name in keyof Table]?: RequestValue<Table[Name]> };

/** Filters of a request in which a single value is allowed instead of a list. */
export type OneOrMoreFilters<Table extends FilterTable> = {
  -readonly [Name in keyof Table]?: RequestValue<Table[Name]> | OneValue<Table[Name]>;
};

/** Store filter of a request. */
export type StoredFilters<Table extends FilterTable> = {
  readonly [Name in keyof Table as Table[Name]['field']]?: StoreValue<Table[Name]>;
};
