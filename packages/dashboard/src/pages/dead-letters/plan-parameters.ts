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

/**
 * Returns the parameters for these groups, limited by the filters that also apply to entries.
 * @param fingerprints null for all groups
 * @returns null if the list of groups is empty: without a fingerprint, the plan would cover all groups
 */
export function planOfGroups(
  fingerprints: readonly string[] | null,
  filters: Filters<EntryFilter>,
): Record<string, string> | null {
  if (fingerprints === null) return planOfFilters(filters);
  return fingerprints.length === 0 ? null : { fingerprint: fingerprints.join(','), ...filters };
}

/** Returns the URL parameters except those with these names. */
export const omitParameters = (
  parameters: Readonly<Record<string, string | undefined>>,
  ...names: readonly string[]
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined && !names.includes(entry[0])),
  );
