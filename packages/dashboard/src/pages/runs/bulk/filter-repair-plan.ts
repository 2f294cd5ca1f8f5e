/** The plan of a repair for all failed runs that match the filters of the list. */
import type { RepairFilter } from '../../../../../everstep/src/contract/repairs.js';
import type { Query } from '../../../api/client.js';
import { ENTRY_FILTERS, parametersOf } from '../../dead-letters/entry-filters.js';

/** Filters of the list that all failed runs match anyway. */
const IMPLIED = ['state'];

/** Returns the URL parameters of the plan. Null if dead letters do not have one of the filters, such as a search text. */
export function planOfMatchingRuns(query: Query): Record<string, string> | null {
  const filters = Object.entries(query).filter(([name, value]) => value !== undefined && value !== '' && !IMPLIED.includes(name));
  if (filters.some(([name]) => !ENTRY_FILTERS.some((supported) => supported === name))) return null;
  // The filters of both lists have the same names and types.
  return parametersOf(Object.fromEntries(filters) as RepairFilter);
}
