/** URL parameters of the page that plans a repair: filters or selected rows of the dead letter queue. */
import type { Filters } from '../../components/tables/filters.js';
import type { EntryFilter } from './entry-filters.js';

export const GROUP_FILTERS = ['state', 'workflowUrl', 'fromDate', 'toDate'] as const;

/** Maximum number of ids in a URL. To cover more entries, use a filter. */
export const MAX_SELECTED = 100;

/** Returns the parameters for all entries that match the filters. */
export const planOfFilters = (values: Filters<EntryFilter>): Record<string, string> => ({ ...values });

/** Returns the parameters for the selected entries; null if there are none. Filters do not apply to them. */
export const planOfEntries = (dlqIds: readonly string[]): Record<string, string> | null =>
  dlqIds.length === 0 ? null : { dlqId: dlqIds.join(',') };

/** Returns the parameters for the selected groups, limited by the filters that also apply to entries. */
export function planOfGroups(
  fingerprints: readonly string[],
  { workflowUrl, fromDate, toDate }: Filters<(typeof GROUP_FILTERS)[number]>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ fingerprint: fingerprints.join(','), workflowUrl, fromDate, toDate }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
    ),
  );
}

/** Returns the URL parameters except those with these names. */
export const omitParameters = (
  parameters: Readonly<Record<string, string | undefined>>,
  ...names: readonly string[]
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined && !names.includes(entry[0])),
  );
