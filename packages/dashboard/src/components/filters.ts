/** Filters of a page stand in its URL: a view can be sent to somebody, and the way back is the way back. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type Filters<Name extends string> = Readonly<Partial<Record<Name, string>>>;

export interface FilterState<Name extends string> {
  readonly values: Filters<Name>;
  /** Whether any of them is set. */
  readonly any: boolean;
  /** '' takes the filter away. */
  readonly set: (name: Name, value: string) => void;
  readonly clear: () => void;
}

/** @param names of the page's filters, declared outside of the component. Other parameters of the URL are left alone. */
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
  return {
    values,
    any: Object.keys(values).length > 0,
    set: (name, value) =>
      change((search) => {
        if (value === '') delete search[name];
        else search[name] = value;
      }),
    clear: () =>
      change((search) => {
        for (const name of names) delete search[name];
      }),
  };
}

/** Values of a filter that takes several: between commas. undefined when there are none. */
export function listOf(value: string | undefined): readonly string[] | undefined {
  const values = value
    ?.split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  return values === undefined || values.length === 0 ? undefined : values;
}

/** Values of a filter whose values can contain commas: the whole, and what is between its commas. undefined when there are none. */
export function listWithWholeOf(value: string | undefined): readonly string[] | undefined {
  const parts = listOf(value);
  return value === undefined || parts === undefined ? parts : [...new Set([value.trim(), ...parts])];
}

/** Unix ms of a filter of time; undefined when there is none that can be read. */
export function timeOf(value: string | undefined): number | undefined {
  if (value === undefined || !/^\d{1,15}$/.test(value)) return undefined;
  return Number(value);
}
