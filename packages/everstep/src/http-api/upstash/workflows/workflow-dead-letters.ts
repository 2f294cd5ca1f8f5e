/** Operations of `/v2/workflows/dlq`, which return failed runs as dead letters in the Upstash format. */
import Type from 'typebox';
import { type Operation, operation, respond } from '../../operation.js';
import { DlqIdPath, deadLetterNotFound } from '../../operations/dead-letters/dead-letters.js';
import { callbackHistory, readDeadLetter } from '../../read-models/dead-letter-pages.js';
import { DlqQuery, listDlqPage } from '../messages/dlq.js';
import { presentDlqMessage } from '../messages/present-message.js';
import { DlqMessage, DlqPage } from '../shapes.js';

const { source: _source, ...parameters } = DlqQuery.properties;

const listWorkflowDlq = operation({
  operationId: 'listWorkflowDlq',
  tag: 'Dead letter queue',
  summary: 'List failed workflow runs',
  description: 'Newest first. The last page has no cursor. Unknown parameters are ignored.',
  method: 'GET',
  path: '/v2/workflows/dlq',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  query: Type.Object(parameters),
  responses: { 200: DlqPage },
  errors: ['bad-parameter', 'bad-cursor'],
  handle: async ({ query, request }, context, caller) =>
    respond(200, await listDlqPage({ ...query, source: 'workflow' }, context, caller, request)),
});

const getWorkflowDlqMessage = operation({
  operationId: 'getWorkflowDlqMessage',
  tag: 'Dead letter queue',
  summary: 'Get a failed workflow run',
  description: 'Returns the entry, with the attempts of the failure callback or failure function.',
  method: 'GET',
  path: '/v2/workflows/dlq/{dlqId}',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  pathParameters: DlqIdPath,
  responses: { 200: DlqMessage },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { dlqId }, request }, { reads }, { instanceId }) {
    const entry = await readDeadLetter(reads.deadLetters, { instanceId, dlqId }, request.reserve);
    if (!entry) throw deadLetterNotFound([dlqId]);
    const history = await callbackHistory(reads.deadLetters, entry);
    return respond(200, presentDlqMessage(entry, history));
  },
});

export const workflowDeadLetterOperations: readonly Operation[] = [listWorkflowDlq, getWorkflowDlqMessage];
