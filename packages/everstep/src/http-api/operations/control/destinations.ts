/** Operations that list, hold and release the destinations of deliveries. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { NO_OTHER_PROPERTIES } from '../../../contract/fields/no-other-properties.js';
import { type DestinationEntry, DestinationHeld, Destinations } from '../../../contract/service.js';
import { isWorkerUrl } from '../../../ports/workers.js';
import type { DestinationStatus } from '../../../runtime/services/workflow-service.js';
import { change } from '../../audited/audit-rule.js';
import { operation, respond } from '../../operation.js';
import { parseWorkflowUrl } from '../../parameters/destination.js';
import { InvalidValueError, quoteValue } from '../../parameters/value-errors.js';
import { optional } from '../../presenters/optional.js';

const TAG = 'Destinations';
const DEFAULT_HOLD_REASON = 'held manually';

const OriginField = Type.Optional(
  Type.String({
    description:
      'Scheme, host and port, for example `https://app.example.com`. A longer URL is shortened to these. The URL of a workflow that workers serve, `worker://<app>/<workflow>`, is used unchanged.',
  }),
);
const UrlField = Type.Optional(Type.String({ description: 'Alternative name of `origin`.' }));

function originOf(body: { readonly origin?: string; readonly url?: string }): string {
  const [fieldName, text] = body.origin === undefined ? ['url', body.url] : ['origin', body.origin];
  if (text === undefined || (body.origin !== undefined && body.url !== undefined)) {
    throw new ApiError('bad-body', 'the body must have either "origin" or "url": an absolute http or https URL, or a worker URL');
  }
  try {
    const url = parseWorkflowUrl(text);
    return isWorkerUrl(url) ? url : new URL(url).origin;
  } catch (error) {
    if (error instanceof InvalidValueError) throw new ApiError('bad-body', `"${fieldName}" ${error.message}`);
    throw error;
  }
}

/** Returns the reason for a hold. Rejects reasons with lone surrogates or U+0000, which some stores cannot store. */
function checkReason(reason: string): string {
  if (!/\p{Surrogate}/u.test(reason) && !reason.includes('\u0000')) return reason;
  throw new ApiError('bad-body', `"reason" must not contain U+0000 or an unpaired surrogate: ${quoteValue(reason)}`);
}

const presentDestination = (status: DestinationStatus): DestinationEntry => ({
  origin: status.origin,
  isHeld: status.hold !== null,
  ...optional('heldBy', status.hold?.by),
  ...optional('reason', status.hold?.reason),
  ...optional('heldSince', status.hold?.since),
  ...optional('noWorkerSince', status.noWorkerSince),
  failures: status.failures,
  ...optional('lastError', status.lastError),
  waitListSize: status.waiting,
  ...optional('nextProbeAt', status.probeAt),
});

export const listDestinations = operation({
  operationId: 'listDestinations',
  tag: TAG,
  summary: 'List destinations that are failing, held or without a worker',
  description: 'Returns the number of waiting deliveries of each destination, and the reason and start of its hold.',
  method: 'GET',
  path: '/v2/destinations',
  unknownQuery: 'ignore',
  responses: { 200: Destinations },
  errors: [],
  handle: async (_input, { service }, { instanceId }) =>
    respond(200, { destinations: (await service.destinations.list({ instanceId })).map(presentDestination) }),
});

export const holdDestination = operation({
  operationId: 'holdDestination',
  audit: change('destination.hold', 'origin'),
  tag: TAG,
  summary: 'Hold all deliveries to a destination',
  description: 'Deliveries wait until the destination is released manually. They are not lost and do not use up attempts.',
  method: 'POST',
  path: '/v2/destinations/hold',
  unknownQuery: 'refuse',
  body: {
    kind: 'json',
    required: true,
    schema: Type.Object(
      {
        origin: OriginField,
        url: UrlField,
        reason: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: LIMITS.maxHoldReasonLength,
            description: 'Reason for the hold. It is shown with the destination.',
            default: DEFAULT_HOLD_REASON,
          }),
        ),
      },
      NO_OTHER_PROPERTIES,
    ),
  },
  responses: { 200: DestinationHeld },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type'],
  async handle({ body = {} }, { service }, { instanceId }) {
    const destination = originOf(body);
    await service.destinations.hold({ instanceId, origin: destination, reason: checkReason(body.reason ?? DEFAULT_HOLD_REASON) });
    return respond(200, { origin: destination, isHeld: true });
  },
});

export const releaseDestination = operation({
  operationId: 'releaseDestination',
  audit: change('destination.release', 'origin'),
  tag: TAG,
  summary: 'Release a held destination',
  description:
    'Releases the destination, whether it was held manually or by the circuit breaker. Waiting deliveries are sent in the order in which they became due.',
  method: 'POST',
  path: '/v2/destinations/release',
  unknownQuery: 'refuse',
  body: { kind: 'json', required: true, schema: Type.Object({ origin: OriginField, url: UrlField }, NO_OTHER_PROPERTIES) },
  responses: { 200: DestinationHeld },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type', 'not-found'],
  async handle({ body = {} }, { service }, { instanceId }) {
    const destination = originOf(body);
    if (await service.destinations.release({ instanceId, origin: destination }))
      return respond(200, { origin: destination, isHeld: false });
    throw new ApiError('not-found', `destination ${quoteValue(destination)} is not held`);
  },
});
