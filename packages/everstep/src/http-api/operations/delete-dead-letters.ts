/** Deleting dead letters. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { DeletedDeadLetter, DeletedDeadLetters } from '../../contract/dead-letters.js';
import { ApiError } from '../../contract/error-codes.js';
import { bulkChange, change } from '../audited/audit-rule.js';
import { answer, operation } from '../operation.js';
import {
  BulkByRunIdPrefix,
  checkedDlqIds,
  DlqIds,
  hasFilter,
  refuseCursorBesideIds,
  refuseSmallerCount,
  runBulk,
} from './bulk.js';
import { DlqIdPath, noSuchEntry } from './dead-letters.js';

export const deleteDeadLetter = operation({
  operationId: 'deleteDeadLetter',
  audit: change('dead-letter.delete', 'dlqId'),
  tag: 'Dead letter queue',
  summary: 'Delete one failed workflow run from the queue',
  description: 'The run stays in the log.',
  method: 'DELETE',
  path: '/v2/workflows/dlq/{dlqId}',
  unknownQuery: 'refuse',
  pathParameters: DlqIdPath,
  responses: { 200: DeletedDeadLetter },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { dlqId } }, { service }, { instanceId }) {
    const outcome = await service.deleteDeadLetters({ instanceId, dlqIds: [dlqId], whenMissing: 'fail' });
    if (outcome.kind === 'missing') throw noSuchEntry(outcome.dlqIds);
    return answer(200, { deleted: 1 });
  },
});

export const deleteDeadLetters = operation({
  operationId: 'deleteDeadLetters',
  audit: bulkChange('dead-letter.delete-many'),
  tag: 'Dead letter queue',
  summary: 'Delete failed workflow runs from the queue',
  description: `At most ${LIMITS.bulkMax} a request, oldest first; follow the cursor, with the same filters, until it is empty. Filters as for resume, or dlqIds in the query or the body. Without any filter nothing is deleted: that is refused with 400, as is an unknown parameter. To delete everything, say so with a filter such as fromDate=0.`,
  method: 'DELETE',
  path: '/v2/workflows/dlq',
  unknownQuery: 'refuse',
  query: BulkByRunIdPrefix,
  body: {
    kind: 'json',
    required: false,
    schema: Type.Object({ dlqIds: DlqIds }, { additionalProperties: false }),
  },
  responses: { 200: DeletedDeadLetters },
  errors: ['bad-parameter', 'bad-cursor', 'bad-body', 'unsupported-media-type', 'not-found'],
  async handle({ query, body }, context, { instanceId }) {
    const { service } = context;
    if (query.dlqIds && body) throw new ApiError('bad-body', 'dlqIds are given in the query and in the body; give them once');
    const named = query.dlqIds ?? body?.dlqIds;
    if (named) {
      refuseCursorBesideIds(query.cursor);
      const dlqIds = checkedDlqIds(named);
      refuseSmallerCount(dlqIds, query.count);
      const outcome = await service.deleteDeadLetters({ instanceId, dlqIds, whenMissing: 'fail' });
      if (outcome.kind === 'missing') throw noSuchEntry(outcome.dlqIds);
      return answer(200, { deleted: outcome.count, cursor: '' });
    }
    if (!hasFilter(query)) {
      throw new ApiError('bad-parameter', 'deleting needs dlqIds or a filter; to delete everything, send fromDate=0');
    }
    const page = await runBulk(context, { operation: 'dlq-delete', instanceId, query, matchRunId: 'prefix' }, async (dlqIds) => {
      const outcome = await service.deleteDeadLetters({ instanceId, dlqIds, whenMissing: 'skip' });
      return Array.from({ length: outcome.kind === 'deleted' ? outcome.count : 0 });
    });
    return answer(200, { deleted: page.done.length, cursor: page.cursor });
  },
});
