/** Operations that show and advance the clock of a server that runs on virtual time. */

import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { ClockMove, ClockMoved, ClockState } from '../../../contract/installation/clock.js';
import type { MoveOutcome, MoveTarget, VirtualTime } from '../../../ports/virtual-time.js';
import { notAudited } from '../../audited/audit-rule.js';
import { type ApiContext, operation, respond } from '../../operation.js';
import { DURATION_FORM, formatDuration, parseDuration } from '../../parameters/duration.js';
import { quoteValue } from '../../parameters/value-errors.js';

const REQUIRES_VIRTUAL_CLOCK =
  'Requires a server that was started with `everstep dev --virtual-clock`; otherwise the response is 404.';

function requireVirtualTime({ virtualTime }: ApiContext): VirtualTime {
  if (virtualTime) return virtualTime;
  throw new ApiError(
    'unknown-route',
    'this server uses the real clock; to control time, start it with `everstep dev --virtual-clock`',
  );
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

function targetOf({ by, to }: { readonly by?: string; readonly to?: number }, now: number): MoveTarget {
  if ((by === undefined) === (to === undefined)) {
    throw new ApiError(
      'bad-body',
      'the body must have either "by", a duration such as "10s", or "to", a time in Unix milliseconds',
    );
  }
  const byMs = by === undefined ? (to ?? now) - now : parseDuration(by);
  if (byMs === null) throw new ApiError('bad-body', `"by" must be ${DURATION_FORM}, not ${quoteValue(by ?? '')}`);
  if (by !== undefined && byMs <= 0)
    throw new ApiError('bad-body', '"by" must be a positive duration such as "10s"; the clock cannot move backwards');
  if (byMs > LIMITS.maxClockMoveMs) {
    throw new ApiError('bad-body', `the clock can advance at most ${formatDuration(LIMITS.maxClockMoveMs)} per request`);
  }
  if (now + byMs > LIMITS.maxClockTime) {
    throw new ApiError('bad-body', `the clock cannot advance beyond ${isoOf(LIMITS.maxClockTime)}`);
  }
  return by === undefined ? { atMs: to ?? now } : { byMs };
}

function moveResult(outcome: MoveOutcome): { readonly now: number; readonly fired: number } {
  switch (outcome.kind) {
    case 'moved':
      return { now: outcome.now, fired: outcome.fired };
    case 'in-the-past':
      throw new ApiError(
        'bad-body',
        `"to" must be in the future: the clock is at ${isoOf(outcome.now)} (${outcome.now}) and cannot move backwards`,
      );
    case 'too-many-instants':
      throw new ApiError(
        'bad-body',
        `stopped after ${outcome.instants} due times, and more are pending; the clock is at ${isoOf(outcome.now)}. Advance it in smaller steps`,
      );
    case 'not-quiet':
      throw new ApiError(
        'unavailable',
        `due work is still running after ${formatDuration(outcome.waitedMs)}, for example a slow step; the clock is at ${isoOf(outcome.now)}. Advance it again when the work is done`,
      );
    case 'canceled':
      throw new ApiError('unavailable', 'the request was canceled or the server is stopping');
  }
}

export const getClock = operation({
  operationId: 'getClock',
  tag: 'Clock',
  summary: 'Get the virtual clock',
  description: `Returns the current time of the virtual clock. ${REQUIRES_VIRTUAL_CLOCK}`,
  method: 'GET',
  path: '/v2/clock',
  unknownQuery: 'ignore',
  responses: { 200: ClockState },
  errors: ['unknown-route'],
  handle: (_input, context) => respond(200, { now: requireVirtualTime(context).now(), virtual: true as const }),
});

export const advanceClock = operation({
  operationId: 'advanceClock',
  audit: notAudited('the virtual clock exists only in `everstep dev`, for tests'),
  tag: 'Clock',
  summary: 'Advance the virtual clock',
  description: `Advances the clock by a duration or to a time. Sleeps, waits, retries and schedules that become due are processed in order, each at its time. Responds when all of it is done. ${REQUIRES_VIRTUAL_CLOCK}`,
  method: 'POST',
  path: '/v2/clock/advance',
  unknownQuery: 'refuse',
  body: { kind: 'json', schema: ClockMove, required: true },
  responses: { 200: ClockMoved },
  errors: ['bad-parameter', 'bad-body', 'unknown-route'],
  async handle({ body, request }, context) {
    const virtualTime = requireVirtualTime(context);
    const target = targetOf(body ?? {}, virtualTime.now());
    return respond(200, moveResult(await virtualTime.move(target, request.signal())));
  },
});

export const settleClock = operation({
  operationId: 'settleClock',
  audit: notAudited('the virtual clock exists only in `everstep dev`, for tests'),
  tag: 'Clock',
  summary: 'Process due work without advancing the virtual clock',
  description: `Responds when nothing is running and nothing is due. ${REQUIRES_VIRTUAL_CLOCK}`,
  method: 'POST',
  path: '/v2/clock/settle',
  unknownQuery: 'refuse',
  responses: { 200: ClockMoved },
  errors: ['bad-parameter', 'bad-body', 'unknown-route'],
  handle: async ({ request }, context) =>
    respond(200, moveResult(await requireVirtualTime(context).move({ byMs: 0 }, request.signal()))),
});
