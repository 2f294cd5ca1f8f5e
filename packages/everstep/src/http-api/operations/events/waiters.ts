/** Lists all runs that wait for events. */
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { EventWaiterPage } from '../../../contract/events.js';
import type { EventStore, WaiterPosition, WaiterRecord } from '../../../ports/stores/store.js';
import { operation, respond } from '../../operation.js';
import { Cursor, Text } from '../../parameters/values.js';
import { presentEventWaiter } from '../../presenters/waiter.js';

const positionText = ({ eventId, since, runKey, slot }: WaiterPosition): string => JSON.stringify([eventId, since, runKey, slot]);

/** Parses the position in a cursor. Throws ApiError if the cursor contains something else. */
function parsePosition(text: string): WaiterPosition {
  const [eventId, since, runKey, slot]: readonly unknown[] = JSON.parse(text);
  if (typeof eventId === 'string' && typeof since === 'number' && typeof runKey === 'string' && typeof slot === 'number')
    return { eventId, since, runKey, slot };
  throw new ApiError('bad-cursor', 'the cursor does not belong to this listing; omit it to start from the beginning');
}

interface WaiterQuery {
  readonly instanceId: string;
  readonly workflowUrl: string | undefined;
  readonly start: WaiterPosition | null;
  readonly count: number;
}

/** Reads a page of waiters from a limited number of rows. `next` is the position at which the next page starts. */
async function readWaiters(store: EventStore, { instanceId, workflowUrl, start, count }: WaiterQuery) {
  const waiters: WaiterRecord[] = [];
  let after = start;
  for (let scannedCount = 0; scannedCount < LIMITS.maxWaitersScanned; ) {
    const limit = workflowUrl === undefined ? count + 1 : LIMITS.waitersPageMax;
    const batch = await store.listWaiters({ instanceId, eventId: null, after, limit });
    scannedCount += batch.length;
    for (const waiter of batch) {
      const isMatch = workflowUrl === undefined || waiter.workflowUrl === workflowUrl;
      if (isMatch && waiters.length === count) return { waiters, next: after };
      after = waiter;
      if (isMatch) waiters.push(waiter);
    }
    if (batch.length < limit) return { waiters, next: null };
    // Yields to other requests.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { waiters, next: after };
}

export const listAllWaiters = operation({
  operationId: 'listAllWaiters',
  tag: 'Events',
  summary: 'List all waiters',
  description:
    'Returns waiters ordered by event id, then by waiting time, longest first. A run that waits for several events appears once for each. A page may contain fewer waiters than requested; a response without a cursor is the last page.',
  method: 'GET',
  path: '/v2/waiters',
  unknownQuery: 'refuse',
  query: Type.Object({
    workflowUrl: Type.Optional(Text(LIMITS.maxWorkflowUrlLength, { description: 'URL of the workflow.' })),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.waitersPageMax,
        default: LIMITS.allWaitersPageDefault,
        description: 'Maximum number of waiters to return.',
      }),
    ),
    cursor: Type.Optional(Cursor('Cursor from the previous page, with the same filters. Omit it for the first page.')),
  }),
  responses: { 200: EventWaiterPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query: { cursor: cursorText, count, workflowUrl } }, { reads, cursors }, { instanceId }) {
    const scope = { operation: 'waiters', instanceId, filters: { workflowUrl } };
    const start =
      cursorText === undefined || cursorText === '' ? null : parsePosition((await cursors.open(scope, cursorText)).after);
    const waiterQuery = { instanceId, workflowUrl, start, count: count ?? LIMITS.allWaitersPageDefault };
    const { waiters, next } = await readWaiters(reads.events, waiterQuery);
    const position = next && { after: positionText(next), horizon: null, remaining: null };
    const cursor = position ? { cursor: await cursors.seal(scope, position) } : {};
    return respond(200, { ...cursor, waiters: waiters.map(presentEventWaiter) });
  },
});
