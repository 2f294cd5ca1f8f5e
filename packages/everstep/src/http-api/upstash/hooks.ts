/** Public requests to webhooks that runs created with the published SDK. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { WebhookTaken } from '../../contract/events.js';
import { RECORDED_BY_EVENT } from '../audited/audit-rule.js';
import { type Method, type Operation, openOperation } from '../operation.js';
import { allowWebhookBody, contentOf, webhookNotFound, webhookResponse } from '../operations/events/webhooks.js';
import { Text } from '../parameters/values.js';

function webhookOperation(method: Method, operationId: string): Operation {
  return openOperation({
    operationId,
    audit: RECORDED_BY_EVENT,
    tag: 'Webhooks',
    summary: `Call a webhook with ${method}`,
    description: 'The SDK creates the URL. Anyone who knows it can call it without a token until the run ends.',
    method,
    path: '/v2/workflows/hooks/{userId}/{workflowRunId}/{eventId}',
    dialect: 'upstash',
    unknownQuery: 'ignore',
    head: false,
    whileStopping: 'refuse',
    pathParameters: Type.Object({
      userId: Text(LIMITS.maxRecordIdLength, { description: "Id of the queue instance, from the endpoint's token" }),
      workflowRunId: Text(LIMITS.maxRunIdLength, { description: 'Id of the run' }),
      eventId: Text(LIMITS.maxEventIdLength, { description: 'Id of the webhook' }),
    }),
    body: { kind: 'bytes', maxBytes: LIMITS.maxEventBytes, description: 'Any bytes, of any content type.' },
    responses: { 200: WebhookTaken },
    errors: ['bad-parameter', 'body-too-large', 'not-found', 'too-many-events'],
    async admit({ path }, { service }) {
      const runId = { instanceId: String(path.userId), workflowRunId: String(path.workflowRunId) };
      if ((await service.events.instanceOfWebhook({ eventId: String(path.eventId), of: runId })) === null)
        throw webhookNotFound();
    },
    async handle({ path: { userId: instanceId, workflowRunId, eventId }, body, request }, context) {
      const webhook = { eventId, of: { instanceId, workflowRunId } };
      await allowWebhookBody(context, webhook, body);
      const content = contentOf(method, body, request);
      return webhookResponse(await context.service.events.callWebhook({ ...webhook, content }));
    },
  });
}

export const hookOperations: readonly Operation[] = [
  webhookOperation('GET', 'callHookByGet'),
  webhookOperation('POST', 'callHook'),
  webhookOperation('PUT', 'callHookByPut'),
  webhookOperation('PATCH', 'callHookByPatch'),
  webhookOperation('DELETE', 'callHookByDelete'),
];
