/** Operations that call the webhooks of runs. Each request becomes an event for the run and requires no token. */

import { type EventContent, readTraceContext } from '@everstep/sdk/protocol';
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { WebhookTaken } from '../../../contract/events.js';
import type { WebhookId } from '../../../runtime/services/workflow-service.js';
import { allowSize } from '../../admission/plan-limits.js';
import { RECORDED_BY_EVENT } from '../../audited/audit-rule.js';
import { type ApiContext, type Method, type Operation, openOperation, type RequestContext, respond } from '../../operation.js';
import type { ReceivedHeaders } from '../../parameters/prefixed-headers.js';
import { Text } from '../../parameters/values.js';
import { optional } from '../../presenters/optional.js';
import { encodeBody } from '../../responses/encoded-bytes.js';
import { STORED_EVENT_LIMITS } from './notify.js';

/** Headers of the connection, which are not part of the request. */
const HOP_BY_HOP_HEADERS: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

function recordedHeaders(headers: ReceivedHeaders): Readonly<Record<string, readonly string[]>> {
  const connection = headers.connection ?? '';
  const connectionHeaders = (typeof connection === 'string' ? connection : connection.join())
    .split(',')
    .map((name) => name.trim());
  const removedHeaders = new Set([...HOP_BY_HOP_HEADERS, ...connectionHeaders.map((name) => name.toLowerCase())]);
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      if (value === undefined || removedHeaders.has(name)) return [];
      return [[name, typeof value === 'string' ? [value] : [...value]]];
    }),
  );
}

/** Returns the event that a webhook request becomes. */
export function contentOf(method: Method, body: Uint8Array, { headers, target }: RequestContext): EventContent {
  return {
    kind: 'request',
    method,
    query: target.query === '' ? '' : `?${target.query}`,
    headers: recordedHeaders(headers),
    body: encodeBody(body),
    ...optional('trace', readTraceContext(headers)),
  };
}

export const webhookNotFound = (): ApiError => new ApiError('not-found', 'webhook not found, or its run has ended');

/** Throws ApiError if the body is larger than the plan of the run allows. An unknown webhook has no limit. */
export async function allowWebhookBody(context: ApiContext, webhook: WebhookId, body: Uint8Array): Promise<void> {
  const instanceId = body.length > 0 ? await context.service.events.instanceOfWebhook(webhook) : null;
  if (instanceId !== null) allowSize(context, instanceId, body);
}

/** Returns the response of a webhook request. Throws ApiError when the run did not accept it. */
export function webhookResponse(outcome: Awaited<ReturnType<ApiContext['service']['events']['callWebhook']>>) {
  switch (outcome) {
    case 'taken':
      return respond(200, { status: 'taken' as const });
    case 'not-found':
      throw webhookNotFound();
    case 'too-many-kept':
      throw new ApiError(
        'too-many-events',
        `the run of this webhook has reached the limit of stored events (${STORED_EVENT_LIMITS}); make the run wait for some of them first`,
      );
  }
}

function webhookOperation(method: Method, operationId: string): Operation {
  return openOperation({
    operationId,
    audit: RECORDED_BY_EVENT,
    tag: 'Webhooks',
    summary: `Call a webhook with ${method}`,
    description:
      'A run creates the URL with `context.createWebhook`. Anyone who has the URL can call it without a token until the run has ended. The run receives the method, query, headers and body. A call that arrives before the run waits for it is stored.',
    method,
    path: '/v2/webhooks/{eventId}',
    unknownQuery: 'ignore',
    // HEAD requests, for example from link previews, are not webhook calls.
    head: false,
    whileStopping: 'refuse',
    pathParameters: Type.Object({ eventId: Text(LIMITS.maxEventIdLength, { description: 'Id of the webhook.' }) }),
    body: { kind: 'bytes', maxBytes: LIMITS.maxEventBytes, description: 'Any bytes with any content type.' },
    responses: { 200: WebhookTaken },
    errors: ['bad-parameter', 'body-too-large', 'not-found', 'too-many-events'],
    async admit({ path }, { service }) {
      const instanceId = await service.events.instanceOfWebhook({ eventId: String(path.eventId) });
      if (instanceId === null) throw webhookNotFound();
    },
    async handle({ path: { eventId }, body, request }, context) {
      await allowWebhookBody(context, { eventId }, body);
      return webhookResponse(await context.service.events.callWebhook({ eventId, content: contentOf(method, body, request) }));
    },
  });
}

export const webhookOperations: readonly Operation[] = [
  webhookOperation('GET', 'callWebhookByGet'),
  webhookOperation('POST', 'callWebhook'),
  webhookOperation('PUT', 'callWebhookByPut'),
  webhookOperation('PATCH', 'callWebhookByPatch'),
  webhookOperation('DELETE', 'callWebhookByDelete'),
];
