/** Destinations of deliveries: how they do, and holding them back by hand. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { type DestinationEntry, DestinationHeld, Destinations } from '../../contract/service.js';
import type { DestinationStatus } from '../../runtime/workflow-service.js';
import { change } from '../audited/audit-rule.js';
import { answer, operation } from '../operation.js';
import { parseDestination } from '../parameters/destination.js';
import { shown, Unacceptable } from '../parameters/unacceptable.js';
import { optional } from '../presenters/optional.js';

const TAG = 'Destinations';
const HELD_BY_HAND = 'held by hand';

const origin = Type.Optional(
  Type.String({ description: 'Scheme, host and port, such as https://app.example.com; of a longer URL they are taken.' }),
);
const url = Type.Optional(Type.String({ description: 'The same as origin.' }));

function originOf(body: { readonly origin?: string; readonly url?: string }): string {
  const [name, given] = body.origin === undefined ? ['url', body.url] : ['origin', body.origin];
  if (given === undefined || (body.origin !== undefined && body.url !== undefined)) {
    throw new ApiError('bad-body', 'the body must have either "origin" or "url", an absolute http or https URL');
  }
  try {
    return new URL(parseDestination(given)).origin;
  } catch (error) {
    if (error instanceof Unacceptable) throw new ApiError('bad-body', `${name} ${error.message}`);
    throw error;
  }
}

/** Half of a surrogate pair and U+0000 could not be kept by every store. */
function reasonOf(reason: string): string {
  if (!/\p{Surrogate}/u.test(reason) && !reason.includes('\u0000')) return reason;
  throw new ApiError('bad-body', `reason has characters that cannot be kept: ${shown(reason)}`);
}

const present = (status: DestinationStatus): DestinationEntry => ({
  origin: status.origin,
  isHeld: status.hold !== null,
  ...optional('heldBy', status.hold?.by),
  ...optional('reason', status.hold?.reason),
  ...optional('heldSince', status.hold?.since),
  failures: status.failures,
  ...optional('lastError', status.lastError),
  waitListSize: status.waiting,
  ...optional('nextProbeAt', status.probeAt),
});

export const listDestinations = operation({
  operationId: 'listDestinations',
  tag: TAG,
  summary: 'List destinations that fail or are held back',
  description: 'With how much waits for each, and since when and why it is held back.',
  method: 'GET',
  path: '/v2/destinations',
  unknownQuery: 'ignore',
  responses: { 200: Destinations },
  errors: [],
  handle: async (_input, { service }, { instanceId }) =>
    answer(200, { destinations: (await service.destinations({ instanceId })).map(present) }),
});

export const holdDestination = operation({
  operationId: 'holdDestination',
  audit: change('destination.hold', 'origin'),
  tag: TAG,
  summary: 'Hold back all deliveries to a destination',
  description: 'Until it is released by hand; nothing is lost, and no attempt is used up.',
  method: 'POST',
  path: '/v2/destinations/hold',
  unknownQuery: 'refuse',
  body: {
    kind: 'json',
    required: true,
    schema: Type.Object(
      {
        origin,
        url,
        reason: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: LIMITS.maxHoldReasonLength,
            description: 'For people: shown wherever the hold is.',
            default: HELD_BY_HAND,
          }),
        ),
      },
      { additionalProperties: false },
    ),
  },
  responses: { 200: DestinationHeld },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type'],
  async handle({ body = {} }, { service }, { instanceId }) {
    const held = originOf(body);
    await service.holdDestination({ instanceId, origin: held, reason: reasonOf(body.reason ?? HELD_BY_HAND) });
    return answer(200, { origin: held, isHeld: true });
  },
});

export const releaseDestination = operation({
  operationId: 'releaseDestination',
  audit: change('destination.release', 'origin'),
  tag: TAG,
  summary: 'Release a destination that is held back',
  description: 'Whoever held it, a person or the breaker. What waited is delivered, in the order in which it came.',
  method: 'POST',
  path: '/v2/destinations/release',
  unknownQuery: 'refuse',
  body: { kind: 'json', required: true, schema: Type.Object({ origin, url }, { additionalProperties: false }) },
  responses: { 200: DestinationHeld },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type', 'not-found'],
  async handle({ body = {} }, { service }, { instanceId }) {
    const held = originOf(body);
    if (await service.releaseDestination({ instanceId, origin: held })) return answer(200, { origin: held, isHeld: false });
    throw new ApiError('not-found', `${shown(held)} is not held back`);
  },
});
