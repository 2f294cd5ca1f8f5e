/**
 * Bulk operations on the dead letter queue, in pages of 50 entries. A bulk operation covers the entries that exist at its
 * first request, oldest first. The cursor contains the current position and the number of entries that remain to be processed.
 */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { DEAD_LETTER_FILTERS, PREFIX_FILTERS } from '../../../contract/filters/dead-letter-filters.js';
import type { DeadLetterFilter } from '../../../ports/stores/store.js';
import type { ApiContext } from '../../operation.js';
import { queryFilters, storeFilterOf } from '../../parameters/filters.js';
import { AnyOf } from '../../parameters/multi-value.js';
import { Cursor, Text } from '../../parameters/values.js';
import type { CursorState } from '../../requests/cursor.js';
import { deadLetterQuery, isEmptyRange } from '../filters.js';

/** Maximum length of a dead letter id in a request. Ids that Everstep creates are shorter. */
const MAX_DLQ_ID_LENGTH = 128;

export const dlqIdsUpTo = (max: number) =>
  AnyOf(
    Text(MAX_DLQ_ID_LENGTH, {}),
    `Ids of dead letter entries, at most ${max}. All or nothing: if one id does not exist, the response is 404 and nothing is changed. When ids are given, the other filters are ignored`,
  );
export const DlqIds = dlqIdsUpTo(LIMITS.bulkMax);

const bulkParameters = {
  dlqIds: Type.Optional(DlqIds),
  cursor: Type.Optional(Cursor('Cursor from the previous response, with the same filters. Omit it to start from the beginning.')),
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: `Maximum number of entries across all requests of the bulk operation. Default: all matching entries. Each request handles at most ${LIMITS.bulkMax}.`,
    }),
  ),
};

export const BulkByRunId = Type.Object({ ...bulkParameters, ...deadLetterQuery });
export const BulkByRunIdPrefix = Type.Object({ ...bulkParameters, ...queryFilters(PREFIX_FILTERS) });
export type BulkQuery = StaticDecode<typeof BulkByRunId>;

export interface BulkRequest {
  readonly operation: string;
  readonly instanceId: string;
  readonly query: BulkQuery;
  readonly matchRunId: 'exact' | 'prefix';
  /** Maximum number of entries in this request. Default and maximum: LIMITS.bulkMax. */
  readonly pageMax?: number;
}

export interface BulkPage<Done> {
  readonly done: readonly Done[];
  readonly cursor: string;
}

/**
 * Takes the entries with these ids out of the queue and returns one result for each of them. Entries that other requests have
 * already taken have no result.
 */
export type TakeEntries<Done> = (dlqIds: readonly string[]) => Promise<readonly Done[]>;

/** Returns the distinct ids. Throws ApiError when there are none or too many. */
export function distinctDlqIds(dlqIds: readonly string[], max: number = LIMITS.bulkMax): readonly string[] {
  const distinctIds = [...new Set(dlqIds)];
  if (distinctIds.length === 0)
    throw new ApiError('bad-parameter', 'dlqIds must not be empty; give at least one id, or omit the parameter');
  if (distinctIds.length <= max) return distinctIds;
  throw new ApiError(
    'bad-parameter',
    `dlqIds must not contain more than ${max} different ids in one request; this request has ${distinctIds.length}`,
  );
}

/** Returns whether the query has a filter. */
export function hasFilter({ cursor: _cursor, count: _count, ...filters }: BulkQuery): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

/** Processes one page of a bulk operation and returns its results, with the cursor of the next page. */
export async function runBulk<Done>(context: ApiContext, request: BulkRequest, take: TakeEntries<Done>): Promise<BulkPage<Done>> {
  const { reads, cursors } = context;
  const { instanceId, query, matchRunId, pageMax = LIMITS.bulkMax } = request;
  const maxPerPage = Math.min(pageMax, LIMITS.bulkMax);
  const { cursor: cursorText, count, dlqIds: _dlqIds, ...filters } = query;
  const scope = { operation: request.operation, instanceId, filters };
  const cursorState: CursorState | null =
    cursorText === undefined || cursorText === '' ? null : await cursors.open(scope, cursorText);
  if (isEmptyRange(filters)) return { done: [], cursor: '' };
  const horizon = cursorState?.horizon ?? (await reads.deadLetters.deadLetterHorizon({ instanceId }));
  const filter: DeadLetterFilter = {
    kind: 'workflow',
    ...storeFilterOf(matchRunId === 'exact' ? DEAD_LETTER_FILTERS : PREFIX_FILTERS, filters),
  };
  let remaining = cursorState === null ? (count ?? null) : cursorState.remaining;
  let after: string | null = cursorState?.after ?? null;
  let done: readonly Done[] = [];
  // If other requests have already taken all entries of a page, the next page is read, because an empty result means the end.
  do {
    const limit = Math.min(maxPerPage, remaining ?? maxPerPage);
    const page = await reads.deadLetters.listDeadLetterIds({ instanceId, filter, order: 'oldest-first', after, horizon, limit });
    if (page.items.length > 0) done = await take(page.items);
    if (remaining !== null) remaining -= done.length;
    after = page.next;
  } while (after !== null && done.length === 0);
  if (after === null || remaining === 0) return { done, cursor: '' };
  return { done, cursor: await cursors.seal(scope, { after, horizon, remaining }) };
}

/** Rejects a count below the number of ids: ids are processed all or nothing. */
export function refuseSmallerCount(dlqIds: readonly string[], count: number | undefined): void {
  if (count === undefined || count >= dlqIds.length) return;
  throw new ApiError(
    'bad-parameter',
    `count (${count}) must not be less than the number of dlqIds (${dlqIds.length}), because ids are processed all or nothing; omit count`,
  );
}

/** Rejects a cursor together with dlqIds. Ids fit on one page, so the cursor belongs to another request. */
export function refuseCursorWithIds(cursor: string | undefined): void {
  if (cursor === undefined || cursor === '') return;
  throw new ApiError('bad-cursor', 'cursor and dlqIds cannot be used together; omit one of them');
}
