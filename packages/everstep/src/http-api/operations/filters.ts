/** Filters that several operations share. */
import Type from 'typebox';
import { DEAD_LETTER_FILTERS } from '../../contract/filters/dead-letter-filters.js';
import { like } from '../../contract/patterns.js';
import { queryFilters } from '../parameters/filters.js';

/** Schema of the fingerprint of a dead letter group. */
export const Fingerprint = (description: string) => Type.String({ ...like('fingerprint'), description });

/** Query parameters of the dead letter queue. */
export const deadLetterQuery = queryFilters(DEAD_LETTER_FILTERS);

/** Returns whether the range ends before it starts, so that nothing can match. */
export const isEmptyRange = ({ fromDate, toDate }: { readonly fromDate?: number; readonly toDate?: number }): boolean =>
  fromDate !== undefined && toDate !== undefined && fromDate > toDate;
