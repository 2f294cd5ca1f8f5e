/**
 * Bulk operations on the dead letter queue, fifty entries a request. A bulk
 * covers the entries that were there when its first page was asked for, oldest
 * first; its cursor carries the place reached and how many are still wanted.
 */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import type { DeadLetterFilter } from '../../ports/store.js';
import type { CursorState } from '../cursor.js';
import type { ApiContext } from '../operation.js';
import { AnyOf } from '../parameters/several.js';
import { Cursor, Text } from '../parameters/values.js';
import { deadLetterFilterOf, deadLetterFilters, isEmptyRange, RunIdFilter, RunIdPrefixFilter } from './filters.js';

/** Longer ones are none of ours. */
const MAX_DLQ_ID_LENGTH = 128;

export const dlqIdsUpTo = (most: number) =>
  AnyOf(
    Text(MAX_DLQ_ID_LENGTH, {}),
    `IDs of DLQ entries, at most ${most}. All or nothing: if one is missing, the answer is 404 and nothing happens. When given, the other filters are ignored`,
  );
export const DlqIds = dlqIdsUpTo(LIMITS.bulkMax);

const bulkParameters = {
  dlqIds: Type.Optional(DlqIds),
  cursor: Type.Optional(Cursor('Continues a bulk, with the same filters; empty begins one.')),
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: `At most so many in all, over all requests of the bulk; all that match when absent. Each request handles at most ${LIMITS.bulkMax}.`,
    }),
  ),
  ...deadLetterFilters,
};

export const BulkByRunId = Type.Object({ ...bulkParameters, workflowRunId: Type.Optional(RunIdFilter) });
export const BulkByRunIdPrefix = Type.Object({ ...bulkParameters, workflowRunId: Type.Optional(RunIdPrefixFilter) });
export type BulkQuery = StaticDecode<typeof BulkByRunId>;

export interface BulkRequest {
  readonly operation: string;
  readonly instanceId: string;
  readonly query: BulkQuery;
  readonly matchRunId: 'exact' | 'prefix';
  /** At most so many in this request, whatever follows; LIMITS.bulkMax when absent, and never more. */
  readonly pageMost?: number;
}

export interface BulkPage<Done> {
  readonly done: readonly Done[];
  readonly cursor: string;
}

/** Takes the entries with these ids out of the queue, and gives what came of them; others may have taken some meanwhile. */
export type TakeEntries<Done> = (dlqIds: readonly string[]) => Promise<readonly Done[]>;

/** Each id once. Throws ApiError when there are none, or too many. */
export function checkedDlqIds(dlqIds: readonly string[], most: number = LIMITS.bulkMax): readonly string[] {
  const distinct = [...new Set(dlqIds)];
  if (distinct.length === 0) throw new ApiError('bad-parameter', 'dlqIds must not be empty; name the entries, or leave it out');
  if (distinct.length <= most) return distinct;
  throw new ApiError(
    'bad-parameter',
    `dlqIds must not have more than ${most} different IDs in one request, and this has ${distinct.length}`,
  );
}

/** Whether anything narrows down what is hit. */
export function hasFilter({ cursor: _cursor, count: _count, ...filters }: BulkQuery): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

export async function runBulk<Done>(context: ApiContext, request: BulkRequest, take: TakeEntries<Done>): Promise<BulkPage<Done>> {
  const { store, cursors } = context;
  const { instanceId, query, matchRunId, pageMost = LIMITS.bulkMax } = request;
  const most = Math.min(pageMost, LIMITS.bulkMax);
  const { cursor: given, count, dlqIds: _named, ...asked } = query;
  const scope = { operation: request.operation, instanceId, filters: asked };
  const begun: CursorState | null = given === undefined || given === '' ? null : await cursors.open(scope, given);
  if (isEmptyRange(asked)) return { done: [], cursor: '' };
  const horizon = begun?.horizon ?? (await store.deadLetterHorizon({ instanceId }));
  const filter: DeadLetterFilter = {
    ...deadLetterFilterOf(asked),
    ...(matchRunId === 'exact' ? { workflowRunId: asked.workflowRunId } : { workflowRunIdPrefix: asked.workflowRunId }),
  };
  let left = begun === null ? (count ?? null) : begun.left;
  let after: string | null = begun?.after ?? null;
  let done: readonly Done[] = [];
  // Where others took a whole page meanwhile, the next one is tried, so that a page is empty only at the end.
  do {
    const limit = Math.min(most, left ?? most);
    const page = await store.listDeadLetterIds({ instanceId, filter, order: 'oldest-first', after, horizon, limit });
    if (page.items.length > 0) done = await take(page.items);
    if (left !== null) left -= done.length;
    after = page.next;
  } while (after !== null && done.length === 0);
  if (after === null || left === 0) return { done, cursor: '' };
  return { done, cursor: await cursors.seal(scope, { after, horizon, left }) };
}

/** All of them or none: a count that is smaller could not be kept. */
export function refuseSmallerCount(dlqIds: readonly string[], count: number | undefined): void {
  if (count === undefined || count >= dlqIds.length) return;
  throw new ApiError(
    'bad-parameter',
    `count does not go with dlqIds: ${dlqIds.length} IDs are named, and all or none of them are handled, not ${count}`,
  );
}

/** With dlqIds there is one page, so a cursor beside them was made for something else. */
export function refuseCursorBesideIds(cursor: string | undefined): void {
  if (cursor === undefined || cursor === '') return;
  throw new ApiError('bad-cursor', 'a cursor goes with filters, not with dlqIds; leave one of them out');
}
