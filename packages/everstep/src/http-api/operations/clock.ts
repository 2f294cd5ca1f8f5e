/** The clock of a service that runs on virtual time. */

import { LIMITS } from '../../config/limits.js';
import { ClockMove, ClockMoved, ClockState } from '../../contract/clock.js';
import { ApiError } from '../../contract/error-codes.js';
import type { MoveOutcome, MoveTarget, VirtualTime } from '../../ports/virtual-time.js';
import { notAudited } from '../audited/audit-rule.js';
import { type ApiContext, answer, operation } from '../operation.js';
import { DURATION_WORDS, formatDuration, parseDuration } from '../parameters/duration.js';
import { shown } from '../parameters/unacceptable.js';

const ONLY_VIRTUAL = 'Only where the service was started with `everstep dev --virtual-clock`; elsewhere this is a 404.';

function virtualTime({ virtualTime: time }: ApiContext): VirtualTime {
  if (time) return time;
  throw new ApiError(
    'unknown-route',
    'the clock of this service is the real one; to move time on, start it with `everstep dev --virtual-clock`',
  );
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

function targetOf({ by, to }: { readonly by?: string; readonly to?: number }, now: number): MoveTarget {
  if ((by === undefined) === (to === undefined)) {
    throw new ApiError('bad-body', 'the body must have either "by", a duration, or "to", Unix milliseconds');
  }
  const byMs = by === undefined ? (to ?? now) - now : parseDuration(by);
  if (byMs === null) throw new ApiError('bad-body', `"by" must be ${DURATION_WORDS}, not ${shown(by ?? '')}`);
  if (by !== undefined && byMs <= 0) throw new ApiError('bad-body', '"by" must be longer than nothing: time only moves on');
  if (byMs > LIMITS.maxClockMoveMs) {
    throw new ApiError('bad-body', `time moves at most ${formatDuration(LIMITS.maxClockMoveMs)} on at once`);
  }
  if (now + byMs > LIMITS.maxClockTime) {
    throw new ApiError('bad-body', `time ends at ${isoOf(LIMITS.maxClockTime)} here`);
  }
  return by === undefined ? { atMs: to ?? now } : { byMs };
}

function moved(outcome: MoveOutcome): { readonly now: number; readonly fired: number } {
  switch (outcome.kind) {
    case 'moved':
      return { now: outcome.now, fired: outcome.fired };
    case 'in-the-past':
      throw new ApiError('bad-body', `"to" is over: it is ${isoOf(outcome.now)} (${outcome.now}), and time only moves on`);
    case 'too-many-instants':
      throw new ApiError(
        'bad-body',
        `something fell due at ${outcome.instants} instants, and there is more; time stands at ${isoOf(outcome.now)}. Move on in smaller parts`,
      );
    case 'not-quiet':
      throw new ApiError(
        'unavailable',
        `the service still works on what fell due after ${formatDuration(outcome.waitedMs)}, perhaps because a step takes long; time stands at ${isoOf(outcome.now)}. Move on when it is done`,
      );
    case 'given-up':
      throw new ApiError('unavailable', 'the request was given up, or the service is stopping');
  }
}

export const getClock = operation({
  operationId: 'getClock',
  tag: 'Clock',
  summary: 'Get the time of a virtual clock',
  description: ONLY_VIRTUAL,
  method: 'GET',
  path: '/v2/clock',
  unknownQuery: 'ignore',
  responses: { 200: ClockState },
  errors: ['unknown-route'],
  handle: (_input, context) => answer(200, { now: virtualTime(context).now(), virtual: true as const }),
});

export const advanceClock = operation({
  operationId: 'advanceClock',
  audit: notAudited('the virtual clock of tests, which serve does not have'),
  tag: 'Clock',
  summary: 'Move a virtual clock on',
  description: `By a duration or to a point in time. Sleeps, waits, retries and schedules that fall due on the way happen in order, each at its time. Answers when all of it has been worked off. ${ONLY_VIRTUAL}`,
  method: 'POST',
  path: '/v2/clock/advance',
  unknownQuery: 'refuse',
  body: { kind: 'json', schema: ClockMove, required: true },
  responses: { 200: ClockMoved },
  errors: ['bad-parameter', 'bad-body', 'unknown-route'],
  async handle({ body, request }, context) {
    const time = virtualTime(context);
    return answer(200, moved(await time.move(targetOf(body ?? {}, time.now()), request.signal())));
  },
});

export const settleClock = operation({
  operationId: 'settleClock',
  audit: notAudited('the virtual clock of tests, which serve does not have'),
  tag: 'Clock',
  summary: 'Work off what is due, without moving a virtual clock',
  description: `Answers when nothing is under way and nothing is due any more. ${ONLY_VIRTUAL}`,
  method: 'POST',
  path: '/v2/clock/settle',
  unknownQuery: 'refuse',
  responses: { 200: ClockMoved },
  errors: ['bad-parameter', 'bad-body', 'unknown-route'],
  handle: async ({ request }, context) => answer(200, moved(await virtualTime(context).move({ byMs: 0 }, request.signal()))),
});
