/** Operations that list and get dead letters. */
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { DeadLetterEntry, DeadLetterPage } from '../../../contract/dead-letters.js';
import { ApiError } from '../../../contract/error-codes.js';
import { DEAD_LETTER_FILTERS } from '../../../contract/filters/dead-letter-filters.js';
import { operation, respond } from '../../operation.js';
import { storeFilterOf } from '../../parameters/filters.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Cursor, Text } from '../../parameters/values.js';
import { presentDeadLetter } from '../../presenters/dead-letter.js';
import { callbackHistory, readDeadLetter, readDeadLetters } from '../../read-models/dead-letter-pages.js';
import { DeadLetterOrder, deadLetterQuery, isEmptyRange } from '../filters.js';

export const DlqIdPath = Type.Object({ dlqId: Text(LIMITS.maxRunIdLength, { description: 'Id of the dead letter entry.' }) });

export const deadLetterNotFound = (dlqIds: readonly string[]): ApiError => {
  const shownIds = dlqIds.slice(0, 5).map(quoteValue).join(', ');
  const moreText = dlqIds.length > 5 ? ` and ${dlqIds.length - 5} more` : '';
  const cause = 'already resumed, restarted or deleted, or never existed';
  return new ApiError('not-found', `not found in the dead letter queue: ${shownIds}${moreText} (${cause}); nothing was changed`);
};

export const listDeadLetters = operation({
  operationId: 'listDeadLetters',
  tag: 'Dead letter queue',
  summary: 'List failed workflow runs',
  description:
    'Returns entries, newest first or in the given `order`. The cursor is empty when there are no more results. A page with large bodies contains fewer entries. Unknown parameters are ignored.',
  method: 'GET',
  path: '/v2/workflows/dlq',
  unknownQuery: 'ignore',
  query: Type.Object({
    order: DeadLetterOrder,
    cursor: Type.Optional(Cursor('Cursor from the previous page, with the same filters and order. Omit it for the first page.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.deadLettersPageMax,
        default: LIMITS.deadLettersPageDefault,
        description: 'Maximum number of entries per page.',
      }),
    ),
    ...deadLetterQuery,
  }),
  responses: { 200: DeadLetterPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query, request }, { reads, cursors }, { instanceId }) {
    const { cursor: cursorText, count, ...filterQuery } = query;
    const scope = { operation: 'dlq', instanceId, filters: filterQuery };
    const cursorState = cursorText === undefined || cursorText === '' ? null : await cursors.open(scope, cursorText);
    if (isEmptyRange(filterQuery)) return respond(200, { cursor: '', messages: [] });
    const listing = await reads.deadLetters.listDeadLetters({
      instanceId,
      filter: { kind: 'workflow', ...storeFilterOf(DEAD_LETTER_FILTERS, filterQuery) },
      order: filterQuery.order ?? 'newest-first',
      after: cursorState?.after ?? null,
      horizon: null,
      limit: count ?? LIMITS.deadLettersPageDefault,
    });
    const { entries, next } = await readDeadLetters(reads.deadLetters, listing, request.reserve);
    const cursor = next === null ? '' : await cursors.seal(scope, { after: next, horizon: null, remaining: null });
    const scheduledDeletions = await reads.repairs.scheduledDeletions({ instanceId, dlqIds: entries.map(({ dlqId }) => dlqId) });
    const deletions = new Map(scheduledDeletions.map((deletion) => [deletion.dlqId, deletion]));
    return respond(200, { cursor, messages: entries.map((entry) => presentDeadLetter(entry, deletions.get(entry.dlqId))) });
  },
});

export const getDeadLetter = operation({
  operationId: 'getDeadLetter',
  tag: 'Dead letter queue',
  summary: 'Get a failed workflow run',
  description: 'Returns the dead letter entry of the run.',
  method: 'GET',
  path: '/v2/workflows/dlq/{dlqId}',
  unknownQuery: 'ignore',
  pathParameters: DlqIdPath,
  responses: { 200: DeadLetterEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { dlqId }, request }, { reads }, { instanceId }) {
    const entry = await readDeadLetter(reads.deadLetters, { instanceId, dlqId }, request.reserve);
    if (!entry) throw deadLetterNotFound([dlqId]);
    const history = await callbackHistory(reads.deadLetters, entry);
    const [deletion] = await reads.repairs.scheduledDeletions({ instanceId, dlqIds: [dlqId] });
    return respond(200, presentDeadLetter(entry, deletion, history));
  },
});
