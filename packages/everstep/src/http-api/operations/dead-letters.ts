/** Reading the dead letter queue. */
import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { DeadLetterEntry, DeadLetterPage } from '../../contract/dead-letters.js';
import { ApiError } from '../../contract/error-codes.js';
import { callbackHistory, readDeadLetter, readDeadLetters } from '../dead-letter-pages.js';
import { answer, operation } from '../operation.js';
import { shown } from '../parameters/unacceptable.js';
import { Cursor, Text } from '../parameters/values.js';
import { presentDeadLetter } from '../presenters/dead-letter.js';
import { deadLetterFilterOf, deadLetterFilters, isEmptyRange, RunIdFilter } from './filters.js';

export const DlqIdPath = Type.Object({ dlqId: Text(LIMITS.maxRunIdLength, { description: 'ID of the DLQ entry' }) });

export const noSuchEntry = (dlqIds: readonly string[]): ApiError => {
  const named = dlqIds.slice(0, 5).map(shown).join(', ');
  const more = dlqIds.length > 5 ? ` and ${dlqIds.length - 5} more` : '';
  const gone = 'resumed, restarted or deleted already, or never there';
  return new ApiError('not-found', `not in the dead letter queue: ${named}${more} (${gone}); nothing was done`);
};

export const listDeadLetters = operation({
  operationId: 'listDeadLetters',
  tag: 'Dead letter queue',
  summary: 'List failed workflow runs',
  description:
    'Newest first. The cursor is empty when there are no more results; a page with long bodies ends early. Unknown parameters are ignored.',
  method: 'GET',
  path: '/v2/workflows/dlq',
  unknownQuery: 'ignore',
  query: Type.Object({
    cursor: Type.Optional(Cursor('Returns the next page, with the same filters; empty begins a listing.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.deadLettersPageMax,
        default: LIMITS.deadLettersPageDefault,
        description: 'Runs per page.',
      }),
    ),
    workflowRunId: Type.Optional(RunIdFilter),
    ...deadLetterFilters,
  }),
  responses: { 200: DeadLetterPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query, request }, { store, cursors }, { instanceId }) {
    const { cursor: given, count, ...asked } = query;
    const scope = { operation: 'dlq', instanceId, filters: asked };
    const begin = given === undefined || given === '' ? null : await cursors.open(scope, given);
    if (isEmptyRange(asked)) return answer(200, { cursor: '', messages: [] });
    const listing = await store.listDeadLetters({
      instanceId,
      filter: { ...deadLetterFilterOf(asked), workflowRunId: asked.workflowRunId },
      order: 'newest-first',
      after: begin?.after ?? null,
      horizon: null,
      limit: count ?? LIMITS.deadLettersPageDefault,
    });
    const { entries, next } = await readDeadLetters(store, listing, request.reserve);
    const cursor = next === null ? '' : await cursors.seal(scope, { after: next, horizon: null, left: null });
    const coming = await store.repairs.comingDeletions({ instanceId, dlqIds: entries.map(({ dlqId }) => dlqId) });
    const deletions = new Map(coming.map((deletion) => [deletion.dlqId, deletion]));
    return answer(200, { cursor, messages: entries.map((entry) => presentDeadLetter(entry, deletions.get(entry.dlqId))) });
  },
});

export const getDeadLetter = operation({
  operationId: 'getDeadLetter',
  tag: 'Dead letter queue',
  summary: 'Get one failed workflow run',
  method: 'GET',
  path: '/v2/workflows/dlq/{dlqId}',
  unknownQuery: 'ignore',
  pathParameters: DlqIdPath,
  responses: { 200: DeadLetterEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { dlqId }, request }, { store }, { instanceId }) {
    const entry = await readDeadLetter(store, { instanceId, dlqId }, request.reserve);
    if (!entry) throw noSuchEntry([dlqId]);
    const history = await callbackHistory(store, entry);
    const [deletion] = await store.repairs.comingDeletions({ instanceId, dlqIds: [dlqId] });
    return answer(200, presentDeadLetter(entry, deletion, history));
  },
});
