/**
 * The dead letter queue of messages and runs: list, get, delete and retry. `count` applies to one request. The cursor
 * continues with the entries that existed at the first request.
 */

import Type, { type StaticDecode } from 'typebox';
import type { Caller } from '../../../accounts/tokens/caller.js';
import { LIMITS } from '../../../config/limits.js';
import { Empty } from '../../../contract/empty.js';
import type { ErrorCode } from '../../../contract/error-codes.js';
import { DEAD_LETTER_FILTERS } from '../../../contract/filters/dead-letter-filters.js';
import type { FilterTable } from '../../../contract/filters/filter.js';
import { COMMON_FILTERS } from '../../../contract/filters/message-filters.js';
import type { DeadLetterFilter, RunReference } from '../../../ports/stores/store.js';
import { bulkChange, change } from '../../audited/audit-rule.js';
import { type ApiContext, type Operation, operation, type RequestContext, respond } from '../../operation.js';
import { DlqIds, distinctDlqIds } from '../../operations/dead-letters/bulk.js';
import { DlqIdPath, deadLetterNotFound } from '../../operations/dead-letters/dead-letters.js';
import { OVERRIDE_FAMILIES, OverrideHeaders, overridesOf, recover } from '../../operations/dead-letters/recover.js';
import { isEmptyRange } from '../../operations/filters.js';
import { queryFilters, storeFilterOf } from '../../parameters/filters.js';
import { Cursor } from '../../parameters/values.js';
import { readDeadLetter, readDeadLetters } from '../../read-models/dead-letter-pages.js';
import { FILTERS_BODY, filtersOf } from '../body-filters.js';
import { DlqDeleted, DlqMessage, DlqPage, DlqRetried, Published } from '../shapes.js';
import { presentDlqMessage } from './present-message.js';

const TAG = 'Dead letter queue';

const FILTERS = {
  messageId: { kind: 'text', maxLength: 'maxRunIdLength', field: 'workflowRunId', description: 'Id of the message' },
  workflowRunId: { kind: 'text', maxLength: 'maxRunIdLength', field: 'workflowRunId', description: 'Id of the run' },
  ...COMMON_FILTERS,
  workflowUrl: DEAD_LETTER_FILTERS.workflowUrl,
  workflowCreatedAt: { kind: 'time', field: 'workflowCreatedAt', description: 'Creation of the run, Unix ms' },
  responseStatus: {
    kind: 'numbers',
    minimum: 100,
    maximum: 999,
    field: 'responseStatuses',
    description: 'Status of the last response',
  },
  failureFunctionState: { ...DEAD_LETTER_FILTERS.failureFunctionState, description: 'State of the failure callback' },
  failureCallbackState: { ...DEAD_LETTER_FILTERS.failureFunctionState, description: 'Alias of failureFunctionState' },
} as const satisfies FilterTable<keyof DeadLetterFilter>;

const PAGE_PARAMETERS = {
  dlqIds: Type.Optional(DlqIds),
  cursor: Type.Optional(Cursor('Continues with the same filters. An empty cursor starts a new listing.')),
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      default: LIMITS.deadLettersPageDefault,
      description: `Maximum number of entries in this request, capped at ${LIMITS.deadLettersPageMax}. The cursor continues with the rest.`,
    }),
  ),
};
export const DlqQuery = Type.Object({
  ...queryFilters(FILTERS),
  source: Type.Optional(
    Type.Enum(['workflow', 'message'], {
      type: 'string',
      description: 'Returns only entries of runs, or only entries of messages.',
    }),
  ),
  api: Type.Optional(Type.String({ description: 'Ignored.' })),
  ...PAGE_PARAMETERS,
});
export type DlqQuery = StaticDecode<typeof DlqQuery>;
type DlqFilters = Omit<DlqQuery, keyof typeof PAGE_PARAMETERS>;

const filterOf = (filters: DlqFilters): DeadLetterFilter => ({ kind: filters.source, ...storeFilterOf(FILTERS, filters) });

const limitOf = (count: number | undefined): number =>
  Math.min(count ?? LIMITS.deadLettersPageDefault, LIMITS.deadLettersPageMax);

const READ_ERRORS: readonly ErrorCode[] = ['bad-parameter', 'bad-cursor'];
const BODY_ERRORS: readonly ErrorCode[] = ['bad-body', 'body-too-large', 'unsupported-media-type'];

/** Returns a page of the dead letter queue. Throws ApiError `bad-cursor`. */
export async function listDlqPage(
  query: DlqQuery,
  { reads, cursors }: Pick<ApiContext, 'reads' | 'cursors'>,
  { instanceId }: Pick<Caller, 'instanceId'>,
  { reserve }: Pick<RequestContext, 'reserve'>,
): Promise<DlqPage> {
  const { cursor: cursorText, count, dlqIds, ...filters } = query;
  const scope = { operation: 'dlq-messages', instanceId, filters: { ...filters, dlqIds } };
  const cursorState = cursorText === undefined || cursorText === '' ? null : await cursors.open(scope, cursorText);
  if (isEmptyRange(filters)) return { messages: [] };
  const listing = await reads.deadLetters.listDeadLetters({
    instanceId,
    filter: { ...filterOf(filters), dlqIds },
    order: 'newest-first',
    after: cursorState?.after ?? null,
    horizon: null,
    limit: limitOf(count),
  });
  const { entries, next } = await readDeadLetters(reads.deadLetters, listing, reserve);
  const cursor = next === null ? {} : { cursor: await cursors.seal(scope, { after: next, horizon: null, remaining: null }) };
  return { ...cursor, messages: entries.map((entry) => presentDlqMessage(entry)) };
}

const listEntries = operation({
  operationId: 'listDlqMessages',
  tag: TAG,
  summary: 'List failed messages and runs',
  description: 'Newest first. The last page has no cursor. Unknown parameters are ignored.',
  method: 'GET',
  path: '/v2/dlq',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  query: DlqQuery,
  responses: { 200: DlqPage },
  errors: READ_ERRORS,
  handle: async ({ query, request }, context, caller) => respond(200, await listDlqPage(query, context, caller, request)),
});

const getEntry = operation({
  operationId: 'getDlqMessage',
  tag: TAG,
  summary: 'Get a failed message',
  description: 'Returns the entry, with the payload and the last response.',
  method: 'GET',
  path: '/v2/dlq/{dlqId}',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  pathParameters: DlqIdPath,
  responses: { 200: DlqMessage },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { dlqId }, request }, { reads }, { instanceId }) {
    const entry = await readDeadLetter(reads.deadLetters, { instanceId, dlqId }, request.reserve);
    if (!entry) throw deadLetterNotFound([dlqId]);
    return respond(200, presentDlqMessage(entry));
  },
});

const deleteEntry = operation({
  operationId: 'deleteDlqMessage',
  audit: change('dead-letter.delete', 'dlqId'),
  tag: TAG,
  summary: 'Delete a dead letter queue entry',
  description: 'Deletes the entry. The message cannot be retried afterwards.',
  method: 'DELETE',
  path: '/v2/dlq/{dlqId}',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  pathParameters: DlqIdPath,
  responses: { 200: Empty },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { dlqId } }, { service }, { instanceId }) {
    const outcome = await service.deadLetters.delete({ instanceId, dlqIds: [dlqId], onMissing: 'fail' });
    if (outcome.kind === 'missing') throw deadLetterNotFound(outcome.dlqIds);
    return respond(200, undefined);
  },
});

interface BulkBatch {
  readonly dlqIds: readonly string[];
  /** Cursor of the next request; absent on the last page. */
  readonly cursor: { readonly cursor?: string };
}

/** Returns the entries of one bulk request, oldest first, out of those that existed at the first request. */
async function nextBatch(name: string, query: DlqQuery, context: ApiContext, instanceId: string): Promise<BulkBatch> {
  const { reads, cursors } = context;
  const { cursor: cursorText, count, dlqIds, ...filters } = query;
  if (dlqIds) return { dlqIds: distinctDlqIds(dlqIds), cursor: {} };
  const scope = { operation: name, instanceId, filters };
  const cursorState = cursorText === undefined || cursorText === '' ? null : await cursors.open(scope, cursorText);
  if (isEmptyRange(filters)) return { dlqIds: [], cursor: {} };
  const horizon = cursorState?.horizon ?? (await reads.deadLetters.deadLetterHorizon({ instanceId }));
  const { items, next } = await reads.deadLetters.listDeadLetterIds({
    instanceId,
    filter: filterOf(filters),
    order: 'oldest-first',
    after: cursorState?.after ?? null,
    horizon,
    limit: limitOf(count),
  });
  const cursor = next === null ? {} : { cursor: await cursors.seal(scope, { after: next, horizon, remaining: null }) };
  return { dlqIds: items, cursor };
}

const BULK_DESCRIPTION =
  'Applies to the entries that match every filter, or to those in dlqIds. Without filters, applies to all entries. An unknown parameter is rejected, because a misspelled filter would match everything.';

const deleteEntries = operation({
  operationId: 'deleteDlqMessages',
  audit: bulkChange('dead-letter.delete-many'),
  tag: TAG,
  summary: 'Delete dead letter queue entries',
  description: `${BULK_DESCRIPTION} Missing dlqIds are skipped.`,
  method: 'DELETE',
  path: '/v2/dlq',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  query: DlqQuery,
  body: FILTERS_BODY,
  responses: { 200: DlqDeleted },
  errors: [...READ_ERRORS, ...BODY_ERRORS],
  async handle({ query: receivedQuery, body, request }, context, { instanceId }) {
    const { query, matchesNothing } = filtersOf(DlqQuery, receivedQuery, body, request);
    if (matchesNothing) return respond(200, { deleted: 0 });
    const { dlqIds, cursor } = await nextBatch('dlq-messages-delete', query, context, instanceId);
    if (dlqIds.length === 0) return respond(200, { ...cursor, deleted: 0 });
    const outcome = await context.service.deadLetters.delete({ instanceId, dlqIds, onMissing: 'skip' });
    return respond(200, { ...cursor, deleted: outcome.kind === 'deleted' ? outcome.count : 0 });
  },
});

const present = ({ workflowRunId }: RunReference): Published => ({ messageId: workflowRunId });
const RETRY_ERRORS: readonly ErrorCode[] = [
  'bad-parameter',
  'bad-header',
  'bad-expression',
  'bad-url',
  'blocked-address',
  'budget-exceeded',
  'storage-quota-exceeded',
  'too-many-flow-control-keys',
  'not-found',
  'daily-limit-reached',
  'too-many-active-runs',
];
/** SDK metadata is accepted and ignored. */
const RETRY_HEADER_FAMILIES = Object.freeze({ ...OVERRIDE_FAMILIES, 'Telemetry-': 'SDK metadata. Ignored.' });

const retryEntry = operation({
  operationId: 'retryDlqMessage',
  audit: change('dead-letter.retry', 'dlqId'),
  tag: TAG,
  summary: 'Retry a failed message',
  description:
    'Publishes the message again with its original settings, except those overridden by headers. A failed run is resumed. The entry is removed.',
  method: 'POST',
  path: '/v2/dlq/retry/{dlqId}',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  pathParameters: DlqIdPath,
  headers: OverrideHeaders,
  headerFamilies: RETRY_HEADER_FAMILIES,
  responses: { 201: Published },
  errors: RETRY_ERRORS,
  async handle({ path: { dlqId }, headers, headersByFamily, request }, context, { instanceId }) {
    const overrides = overridesOf({ headers, headersByFamily }, { context, request, instanceId });
    const command = { kind: 'retry', instanceId, dlqIds: [dlqId], onMissing: 'fail', overrides } as const;
    const [run] = await recover(command, context, request);
    if (!run) throw deadLetterNotFound([dlqId]);
    return respond(201, present(run));
  },
});

const retryEntries = operation({
  operationId: 'retryDlqMessages',
  audit: bulkChange('dead-letter.retry-many'),
  tag: TAG,
  summary: 'Retry failed messages',
  description: `${BULK_DESCRIPTION} If an entry in dlqIds is missing, or one of them cannot be retried, nothing changes.`,
  method: 'POST',
  path: '/v2/dlq/retry',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  query: DlqQuery,
  headers: OverrideHeaders,
  headerFamilies: RETRY_HEADER_FAMILIES,
  body: FILTERS_BODY,
  responses: { 201: DlqRetried },
  errors: [...RETRY_ERRORS, ...BODY_ERRORS, 'bad-cursor'],
  async handle({ query: receivedQuery, headers, headersByFamily, body, request }, context, { instanceId }) {
    const { query, matchesNothing } = filtersOf(DlqQuery, receivedQuery, body, request);
    if (matchesNothing) return respond(201, { responses: [] });
    const overrides = overridesOf({ headers, headersByFamily }, { context, request, instanceId });
    const { dlqIds, cursor } = await nextBatch('dlq-messages-retry', query, context, instanceId);
    if (dlqIds.length === 0) return respond(201, { ...cursor, responses: [] });
    const onMissing = query.dlqIds ? 'fail' : 'skip';
    const runs = await recover({ kind: 'retry', instanceId, dlqIds, onMissing, overrides }, context, request);
    return respond(201, { ...cursor, responses: runs.map(present) });
  },
});

export const dlqOperations: readonly Operation[] = [listEntries, deleteEntries, retryEntries, retryEntry, getEntry, deleteEntry];
