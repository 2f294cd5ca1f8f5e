/** Deletes dead letters. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { DeletedDeadLetter, DeletedDeadLetters } from '../../../contract/dead-letters.js';
import { ApiError } from '../../../contract/error-codes.js';
import { NO_OTHER_PROPERTIES } from '../../../contract/fields/no-other-properties.js';
import { bulkChange, change } from '../../audited/audit-rule.js';
import { operation, respond } from '../../operation.js';
import {
  BulkByRunIdPrefix,
  DlqIds,
  distinctDlqIds,
  hasFilter,
  refuseCursorWithIds,
  refuseSmallerCount,
  runBulk,
} from './bulk.js';
import { DlqIdPath, deadLetterNotFound } from './dead-letters.js';

export const deleteDeadLetter = operation({
  operationId: 'deleteDeadLetter',
  audit: change('dead-letter.delete', 'dlqId'),
  tag: 'Dead letter queue',
  summary: 'Delete a failed workflow run from the queue',
  description: 'Removes the dead letter entry. The run stays in the run log.',
  method: 'DELETE',
  path: '/v2/workflows/dlq/{dlqId}',
  unknownQuery: 'refuse',
  pathParameters: DlqIdPath,
  responses: { 200: DeletedDeadLetter },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { dlqId } }, { service }, { instanceId }) {
    const outcome = await service.deadLetters.delete({ instanceId, dlqIds: [dlqId], onMissing: 'fail' });
    if (outcome.kind === 'missing') throw deadLetterNotFound(outcome.dlqIds);
    return respond(200, { deleted: 1 });
  },
});

export const deleteDeadLetters = operation({
  operationId: 'deleteDeadLetters',
  audit: bulkChange('dead-letter.delete-many'),
  tag: 'Dead letter queue',
  summary: 'Delete multiple failed workflow runs from the queue',
  description: `Deletes at most ${LIMITS.bulkMax} entries per request, oldest first. Repeat the request with the returned cursor and the same filters until the cursor is empty. The filters are those of resume; \`dlqIds\` can be in the query or the body. A request without filters, or with an unknown parameter, is rejected with 400. To delete everything, send a filter that matches all entries, such as \`fromDate=0\`.`,
  method: 'DELETE',
  path: '/v2/workflows/dlq',
  unknownQuery: 'refuse',
  query: BulkByRunIdPrefix,
  body: {
    kind: 'json',
    required: false,
    schema: Type.Object({ dlqIds: DlqIds }, NO_OTHER_PROPERTIES),
  },
  responses: { 200: DeletedDeadLetters },
  errors: ['bad-parameter', 'bad-cursor', 'bad-body', 'unsupported-media-type', 'not-found'],
  async handle({ query, body }, context, { instanceId }) {
    const { service } = context;
    if (query.dlqIds && body) throw new ApiError('bad-body', 'dlqIds is in the query and in the body; give it only once');
    const requestedIds = query.dlqIds ?? body?.dlqIds;
    if (requestedIds) {
      refuseCursorWithIds(query.cursor);
      const dlqIds = distinctDlqIds(requestedIds);
      refuseSmallerCount(dlqIds, query.count);
      const outcome = await service.deadLetters.delete({ instanceId, dlqIds, onMissing: 'fail' });
      if (outcome.kind === 'missing') throw deadLetterNotFound(outcome.dlqIds);
      return respond(200, { deleted: outcome.count, cursor: '' });
    }
    if (!hasFilter(query)) {
      throw new ApiError(
        'bad-parameter',
        'the request contains no filter; give dlqIds or a filter, or send fromDate=0 to delete all entries',
      );
    }
    const page = await runBulk(context, { operation: 'dlq-delete', instanceId, query, matchRunId: 'prefix' }, async (dlqIds) => {
      const outcome = await service.deadLetters.delete({ instanceId, dlqIds, onMissing: 'skip' });
      return Array.from({ length: outcome.kind === 'deleted' ? outcome.count : 0 });
    });
    return respond(200, { deleted: page.done.length, cursor: page.cursor });
  },
});
