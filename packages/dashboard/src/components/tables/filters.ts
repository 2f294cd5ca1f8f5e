/** Filters of a page. They are stored in its URL, so that views can be shared and the Back button works. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type Filters<Name extends string> = Readonly<Partial<Record<Name, string>>>;

export interface FilterState<Name extends string> {
  readonly values: Filters<Name>;
  /** Whether any filter is set. */
  readonly isFiltered: boolean;
  /** Sets a filter; '' removes it. */
  readonly set: (name: Name, value: string) => void;
  /** Sets several filters at once. */
  readonly setAll: (values: readonly (readonly [name: Name, value: string])[]) => void;
  readonly clear: () => void;
}

/**
 * Reads and writes the filters in the URL. Other URL parameters are not changed.
 * @param names names of the filters, declared outside the component
 */
export function useFilters<const Name extends string>(names: readonly Name[]): FilterState<Name> {
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const values: Partial<Record<Name, string>> = {};
  for (const name of names) if (search[name] !== undefined && search[name] !== '') values[name] = search[name];
  const change = useCallback(
    (edit: (search: Record<string, string | undefined>) => void) => {
      void navigate({
        to: '.',
        search: (before) => {
          const after = { ...before };
          edit(after);
          return after;
        },
        replace: true,
        resetScroll: false,
      });
    },
    [navigate],
  );
  const setAll = useCallback(
    (changed: Parameters<FilterState<Name>['setAll']>[0]) =>
      change((search) => {
        for (const [name, value] of changed)
          if (value === '') delete search[name];
          else search[name] = value;
      }),
    [change],
  );
  const set = useCallback((name: Name, value: string) => setAll([[name, value]]), [setAll]);
  return {
    values,
    isFiltered: Object.keys(values).length > 0,
    set,
    setAll,
    clear: () =>
      change((search) => {
        for (const name of names) delete search[name];
      }),
  };
}

/** Returns the comma-separated values of a filter, or undefined if there are none. */
export function listOf(value: string | undefined): readonly string[] | undefined {
  const values = value
    ?.split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return values === undefined || values.length === 0 ? undefined : values;
}

/** Like `listOf`, for values that can contain commas: returns the whole text as well as its comma-separated parts. */
export function listWithFullText(value: string | undefined): readonly string[] | undefined {
  const parts = listOf(value);
  return value === undefined || parts === undefined ? parts : [...new Set([value.trim(), ...parts])];
}

/** Returns the value of a time filter, Unix ms, or undefined if it is missing or invalid. */
export function timeOf(value: string | undefined): number | undefined {
  if (value === undefined || !/^\d{1,15}$/.test(value)) return undefined;
  return Number(value);
}
