/** Order of a list by time, newest first by default. It is stored in the URL, and the header of a column reverses it. */
import { useMemo } from 'react';
import { useFilters } from './filters.js';
import type { Column } from './table-row.js';

const NAMES = ['order'] as const;
const OLDEST_FIRST = 'oldest-first';

export interface ListOrder {
  readonly oldestFirst: boolean;
  /** Query parameter of the list. It does not affect which entries are in the list. */
  readonly query: { readonly order?: typeof OLDEST_FIRST };
  /** Sort state of the time column. It is a new object only when the order changes. */
  readonly sort: NonNullable<Column<never>['sort']>;
}

export function useListOrder(): ListOrder {
  const { values, set } = useFilters(NAMES);
  const oldestFirst = values.order === OLDEST_FIRST;
  return useMemo(
    () => ({
      oldestFirst,
      query: oldestFirst ? { order: OLDEST_FIRST } : {},
      sort: {
        direction: oldestFirst ? 'ascending' : 'descending',
        onToggle: () => set('order', oldestFirst ? '' : OLDEST_FIRST),
      },
    }),
    [oldestFirst, set],
  );
}
