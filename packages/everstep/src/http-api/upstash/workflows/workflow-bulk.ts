/**
 * Resumes, restarts and deletes many failed runs, and calls a failure function again. In this dialect `count` applies
 * to one request and may exceed the maximum of a request. Clients repeat the request until no cursor is returned.
 */

import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { DeletedDeadLetters, RecoveredRuns } from '../../../contract/dead-letters.js';
import { ApiError } from '../../../contract/error-codes.js';
import { NO_OTHER_PROPERTIES } from '../../../contract/fields/no-other-properties.js';
import { RunReferenceSchema } from '../../../contract/runs.js';
import { allowSpending } from '../../admission/plan-limits.js';
import { bulkChange, change } from '../../audited/audit-rule.js';
import { type ApiContext, type Operation, operation, respond } from '../../operation.js';
import {
  BulkByRunId,
  distinctDlqIds,
  dlqIdsUpTo,
  hasFilter,
  refuseCursorWithIds,
  runBulk,
  type TakeEntries,
} from '../../operations/dead-letters/bulk.js';
import { DlqIdPath, deadLetterNotFound } from '../../operations/dead-letters/dead-letters.js';
import { requireSuccess } from '../../operations/dead-letters/failure-callbacks.js';
import {
  OVERRIDE_FAMILIES,
  OverrideHeaders,
  overridesOf,
  RECOVER_TEXTS,
  type RecoverKind,
  recover,
} from '../../operations/dead-letters/recover.js';
import { presentReference } from '../../presenters/run.js';

const { callerIp, failureFunctionState } = BulkByRunId.properties;
const DlqIdList = dlqIdsUpTo(LIMITS.deadLettersPageMax);
const BulkQuery = Type.Object({
  ...BulkByRunId.properties,
  dlqIds: Type.Optional(DlqIdList),
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: `Maximum number of entries in this request, capped at ${LIMITS.bulkMax}. The cursor continues with the rest.`,
    }),
  ),
  callerIP: callerIp,
  failureCallbackState: failureFunctionState,
});
type BulkQuery = StaticDecode<typeof BulkQuery>;

const ERRORS = ['bad-parameter', 'bad-cursor', 'not-found'] as const;
const BULK_DESCRIPTION = `Handles at most ${LIMITS.bulkMax} entries per request, oldest first. Repeat the request with the cursor and the same filters until the cursor is empty. Covers the entries that existed at the first request. An unknown parameter is rejected, because a misspelled filter would match everything.`;

interface PageRequest<Done> {
  readonly operation: string;
  readonly instanceId: string;
  readonly query: BulkQuery;
  readonly take: TakeEntries<Done>;
}

async function nextPage<Done>(context: ApiContext, { operation: name, instanceId, query, take }: PageRequest<Done>) {
  const { count, callerIP, failureCallbackState, dlqIds: _dlqIds, ...filters } = query;
  const nativeQuery = {
    ...filters,
    callerIp: filters.callerIp ?? callerIP,
    failureFunctionState: filters.failureFunctionState ?? failureCallbackState,
  };
  // The cursor contains no remaining count: each request has its own count.
  return runBulk(
    context,
    { operation: name, instanceId, query: nativeQuery, matchRunId: 'exact', pageMax: count ?? LIMITS.bulkMax },
    take,
  );
}

function requestedIds({ dlqIds, cursor }: BulkQuery): readonly string[] | null {
  if (dlqIds === undefined) return null;
  refuseCursorWithIds(cursor);
  return distinctDlqIds(dlqIds, LIMITS.deadLettersPageMax);
}

function recoverMany(kind: RecoverKind): Operation {
  const texts = RECOVER_TEXTS[kind];
  return operation({
    operationId: kind === 'resume' ? 'resumeWorkflowDlq' : 'restartWorkflowDlq',
    audit: bulkChange(`dead-letter.${kind}-many`),
    tag: 'Dead letter queue',
    summary: texts.bulk,
    description: `${BULK_DESCRIPTION} ${texts.steps}`,
    method: 'POST',
    path: `/v2/workflows/dlq/${kind}`,
    dialect: 'upstash',
    unknownQuery: 'refuse',
    query: BulkQuery,
    headers: OverrideHeaders,
    headerFamilies: OVERRIDE_FAMILIES,
    responses: { 200: RecoveredRuns },
    errors: [
      ...ERRORS,
      'bad-header',
      'bad-expression',
      'bad-url',
      'blocked-address',
      'budget-exceeded',
      'storage-quota-exceeded',
      'too-many-flow-control-keys',
      'daily-limit-reached',
      'too-many-active-runs',
    ],
    async handle({ query, headers, headersByFamily, request }, context, { instanceId }) {
      const overrides = overridesOf({ headers, headersByFamily }, { context, request, instanceId });
      const command = { kind, instanceId, overrides } as const;
      const dlqIds = requestedIds(query);
      if (dlqIds) {
        const runs = await recover({ ...command, dlqIds, onMissing: 'fail' }, context, request);
        return respond(200, { workflowRuns: runs.map(presentReference), cursor: '' });
      }
      const page = await nextPage(context, {
        operation: `upstash-dlq-${kind}`,
        instanceId,
        query,
        take: (ids) => recover({ ...command, dlqIds: ids, onMissing: 'skip' }, context, request),
      });
      return respond(200, { workflowRuns: page.done.map(presentReference), cursor: page.cursor });
    },
  });
}

const deleteMany = operation({
  operationId: 'deleteWorkflowDlq',
  audit: bulkChange('dead-letter.delete-many'),
  tag: 'Dead letter queue',
  summary: 'Delete failed workflow runs from the queue',
  description: `${BULK_DESCRIPTION} The runs remain in the log. A request without a filter and without a count is rejected.`,
  method: 'DELETE',
  path: '/v2/workflows/dlq',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  query: BulkQuery,
  body: {
    kind: 'json',
    required: false,
    schema: Type.Object({ dlqIds: DlqIdList }, NO_OTHER_PROPERTIES),
  },
  responses: { 200: DeletedDeadLetters },
  errors: [...ERRORS, 'bad-body', 'unsupported-media-type'],
  async handle({ query, body }, context, { instanceId }) {
    const { service } = context;
    if (query.dlqIds && body) throw new ApiError('bad-body', 'dlqIds are in both the query and the body; send them in one place');
    const dlqIds = requestedIds(body ? { ...query, dlqIds: body.dlqIds } : query);
    if (dlqIds) {
      const outcome = await service.deadLetters.delete({ instanceId, dlqIds, onMissing: 'fail' });
      if (outcome.kind === 'missing') throw deadLetterNotFound(outcome.dlqIds);
      return respond(200, { deleted: outcome.count, cursor: '' });
    }
    if (!hasFilter(query) && query.count === undefined)
      throw new ApiError('bad-parameter', 'specify dlqIds, a filter or a count; to delete everything, send a count');
    const page = await nextPage(context, {
      operation: 'upstash-dlq-delete',
      instanceId,
      query,
      async take(ids) {
        const outcome = await service.deadLetters.delete({ instanceId, dlqIds: ids, onMissing: 'skip' });
        return Array.from({ length: outcome.kind === 'deleted' ? outcome.count : 0 });
      },
    });
    return respond(200, { deleted: page.done.length, cursor: page.cursor });
  },
});

const retryFailureFunction = operation({
  operationId: 'retryWorkflowFailureFunction',
  audit: change('failure-callback.retry', 'dlqId'),
  tag: 'Dead letter queue',
  summary: 'Call the failure function of a failed run again',
  description: 'Starts with the first attempt. Also applies to a failure callback.',
  method: 'POST',
  path: '/v2/workflows/dlq/callback/{dlqId}',
  otherPaths: ['/v2/dlq/callback/{dlqId}'],
  dialect: 'upstash',
  unknownQuery: 'ignore',
  pathParameters: DlqIdPath,
  responses: { 200: RunReferenceSchema },
  errors: ['bad-parameter', 'budget-exceeded', 'storage-quota-exceeded', 'not-found', 'callback-not-possible'],
  async handle({ path: { dlqId } }, context, { instanceId }) {
    const { reads, service } = context;
    const entry = await reads.deadLetters.findDeadLetter({ instanceId, dlqId });
    if (!entry) throw deadLetterNotFound([dlqId]);
    await allowSpending(context, instanceId);
    requireSuccess(await service.failureCallbacks.retry({ instanceId, dlqId }), dlqId);
    return respond(200, presentReference(entry.run));
  },
});

export const workflowBulkOperations: readonly Operation[] = [
  recoverMany('resume'),
  recoverMany('restart'),
  deleteMany,
  retryFailureFunction,
];
