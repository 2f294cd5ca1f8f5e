/** Filters that several operations share. */
import Type from 'typebox';
import { DEAD_LETTER_FILTERS } from '../../contract/filters/dead-letter-filters.js';
import { patternOption } from '../../contract/patterns.js';
import { queryFilters } from '../parameters/filters.js';

/** Schema of the fingerprint of a dead letter group. */
export const Fingerprint = (description: string) => Type.String({ ...patternOption('fingerprint'), description });

/** Query parameters of the dead letter queue. */
export const deadLetterQuery = queryFilters(DEAD_LETTER_FILTERS);

/** Returns the query parameter for the order of a listing. The indexes of both stores can be read in both directions. */
const listOrder = (description: string) =>
  Type.Optional(Type.Enum(['newest-first', 'oldest-first'], { type: 'string', default: 'newest-first' as const, description }));

export const RunOrder = listOrder('Order of the runs, by creation time.');
export const DeadLetterOrder = listOrder('Order of the entries, by the time of the failure.');
export const MessageOrder = listOrder('Order of the messages, by the time of their publication.');

interface Ranges {
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly minDurationMs?: number;
  readonly maxDurationMs?: number;
}

/** Returns whether a range ends before it starts, so that nothing can match. */
export const isEmptyRange = ({ fromDate, toDate, minDurationMs, maxDurationMs }: Ranges): boolean =>
  isEmpty(fromDate, toDate) || isEmpty(minDurationMs, maxDurationMs);

const isEmpty = (from: number | undefined, to: number | undefined): boolean =>
  from !== undefined && to !== undefined && from > to;
