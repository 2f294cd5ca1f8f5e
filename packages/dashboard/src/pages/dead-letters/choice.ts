/** What of the queue a repair is to be planned for: filters and chosen rows, as the page that plans takes them from its URL. */
import type { Filters } from '../../components/filters.js';

/** Filters of the two views; those that a group does not have are left alone in its view. */
export const ENTRY_FILTERS = [
  'fingerprint',
  'workflowUrl',
  'workflowRunId',
  'label',
  'flowControlKey',
  'callerIp',
  'failureFunctionState',
  'fromDate',
  'toDate',
] as const;
export type EntryFilter = (typeof ENTRY_FILTERS)[number];

export const GROUP_FILTERS = ['state', 'workflowUrl', 'fromDate', 'toDate'] as const;

/** So many rows are named in a URL; beyond that a filter says it better. */
export const MOST_NAMED = 100;

/** Parameters of the page that plans, for everything that the filters of entries let through. */
export const planOfFilters = (values: Filters<EntryFilter>): Record<string, string> => ({ ...values });

/** For chosen entries alone: what else is filtered does not matter any more. */
export const planOfEntries = (dlqIds: readonly string[]): Record<string, string> => ({ dlqId: dlqIds.join(',') });

/** For chosen groups, as far as the filters beside them go. */
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

/** Parameters of a URL without some of them. */
export const without = (
  parameters: Readonly<Record<string, string | undefined>>,
  ...names: readonly string[]
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined && !names.includes(entry[0])),
  );
