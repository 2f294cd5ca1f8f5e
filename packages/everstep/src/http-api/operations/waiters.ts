/** All that waits for events, whatever they are. */
import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { EventWaiterPage } from '../../contract/events.js';
import type { EventWaiterRecord, Store } from '../../ports/store.js';
import { answer, operation } from '../operation.js';
import { Cursor, Text } from '../parameters/values.js';
import { presentEventWaiter } from '../presenters/waiter.js';

type Place = Pick<EventWaiterRecord, 'eventId' | 'since' | 'runKey' | 'slot'>;

const placeText = ({ eventId, since, runKey, slot }: Place): string => JSON.stringify([eventId, since, runKey, slot]);

/** A cursor is sealed: what is in it was written above. */
function placeOf(text: string): Place {
  const [eventId, since, runKey, slot]: readonly unknown[] = JSON.parse(text);
  if (typeof eventId === 'string' && typeof since === 'number' && typeof runKey === 'string' && typeof slot === 'number')
    return { eventId, since, runKey, slot };
  throw new ApiError('bad-cursor', 'the cursor is none of this listing');
}

interface Wanted {
  readonly instanceId: string;
  readonly workflowUrl: string | undefined;
  readonly begin: Place | null;
  readonly count: number;
}

/** Looks at so many at most, and says where to go on. */
async function page(store: Pick<Store, 'listAllWaiters'>, { instanceId, workflowUrl, begin, count }: Wanted) {
  const waiters: EventWaiterRecord[] = [];
  let after = begin;
  for (let looked = 0; looked < LIMITS.maxWaitersLookedAt; ) {
    const limit = workflowUrl === undefined ? count + 1 : LIMITS.waitersPageMax;
    const next = await store.listAllWaiters({ instanceId, after, limit });
    looked += next.length;
    for (const waiter of next) {
      const wanted = workflowUrl === undefined || waiter.workflowUrl === workflowUrl;
      if (wanted && waiters.length === count) return { waiters, next: after };
      after = waiter;
      if (wanted) waiters.push(waiter);
    }
    if (next.length < limit) return { waiters, next: null };
    // Others have their turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { waiters, next: after };
}

export const listAllWaiters = operation({
  operationId: 'listAllWaiters',
  tag: 'Events',
  summary: 'List all that wait for events',
  description:
    'By event ID, then who has waited longest. A run that waits for several events is listed with each. A page may have fewer than were asked for; when no cursor is returned, the end has been reached.',
  method: 'GET',
  path: '/v2/waiters',
  unknownQuery: 'refuse',
  query: Type.Object({
    workflowUrl: Type.Optional(Text(LIMITS.maxWorkflowUrlLength, { description: 'URL of the workflow' })),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.waitersPageMax,
        default: LIMITS.allWaitersPageDefault,
        description: 'Waiters to return.',
      }),
    ),
    cursor: Type.Optional(Cursor('Continues a listing, with the same filters; empty begins one.')),
  }),
  responses: { 200: EventWaiterPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query: { cursor: given, count, workflowUrl } }, { store, cursors }, { instanceId }) {
    const scope = { operation: 'waiters', instanceId, filters: { workflowUrl } };
    const begin = given === undefined || given === '' ? null : placeOf((await cursors.open(scope, given)).after);
    const wanted = { instanceId, workflowUrl, begin, count: count ?? LIMITS.allWaitersPageDefault };
    const { waiters, next } = await page(store, wanted);
    const place = next && { after: placeText(next), horizon: null, left: null };
    const cursor = place ? { cursor: await cursors.seal(scope, place) } : {};
    return answer(200, { ...cursor, waiters: waiters.map(presentEventWaiter) });
  },
});
