/** Notifications and waiters: the operations of our own, whose answers have fields more here. */
import Type, { type Static } from 'typebox';
import { NotifiedWaiter, Waiter } from '../../../contract/events.js';
import type { Operation } from '../../../http-api/operation.js';
import { listWaiters, notifyEvent, notifyRun, readEventId } from '../../../http-api/operations/notify.js';

const WaiterHere = Type.Object({
  ...Waiter.properties,
  timeoutUrl: Type.String({ description: 'Who is told when the wait times out: the workflow itself.' }),
  timeoutHeaders: Type.Record(Type.String(), Type.Array(Type.String())),
});
const NotifiedHere = Type.Object({
  ...NotifiedWaiter.properties,
  waiter: WaiterHere,
  error: Type.String({ description: 'Always empty: a waiter that could not be notified is not in the answer.' }),
});

const waiterHere = (waiter: Waiter): Static<typeof WaiterHere> => ({
  ...waiter,
  timeoutUrl: waiter.url,
  timeoutHeaders: waiter.headers,
});
const notifiedHere = (notified: NotifiedWaiter): Static<typeof NotifiedHere> => ({
  ...notified,
  waiter: waiterHere(notified.waiter),
  error: '',
});

function here<Own, Shown>(own: Operation, operationId: string, responses: Operation['responses'], show: (each: Own) => Shown) {
  const shown: Operation = {
    ...own,
    operationId,
    dialect: 'upstash',
    responses,
    async run(input, context, admitted) {
      const { status, body } = await own.run(input, context, admitted);
      // The schema of our own answer says that these are they.
      return { status, body: (body as readonly Own[]).map(show) };
    },
  };
  return shown;
}

/** Of the runs that the published SDKs start. */
const RUN_ID_PREFIX = 'wfr_';

/**
 * The SDK does not encode event IDs, so `/v2/notify/order/42` may name the run "order", or the event "order/42". It names the run
 * when its first part is a run ID of the SDK, or of a run that exists.
 */
const notifyRunOrEvent: Operation = {
  ...notifyRun,
  description: `${notifyRun.description} When no run has the ID, and it does not start with ${RUN_ID_PREFIX}, the whole rest of the path is an event ID that contains a slash.`,
  async run(input, context, admitted) {
    const { workflowRunId, eventId } = input.path;
    if (admitted.access !== 'token') throw new Error('an event was notified without a token');
    const { instanceId } = admitted.caller;
    const named = String(workflowRunId);
    if (named.startsWith(RUN_ID_PREFIX) || (await context.store.findRun({ instanceId, workflowRunId: named })))
      return notifyRun.run(input, context, admitted);
    return notifyEvent.run({ ...input, path: { eventId: readEventId(`${named}/${eventId}`) } }, context, admitted);
  },
};

const NOTIFIED = { 200: Type.Array(NotifiedHere) };

export const workflowEventOperations: readonly Operation[] = [
  here(notifyEvent, 'notifyWorkflows', NOTIFIED, notifiedHere),
  here(notifyRunOrEvent, 'notifyWorkflowRun', NOTIFIED, notifiedHere),
  here(listWaiters, 'getWorkflowWaiters', { 200: Type.Array(WaiterHere) }, waiterHere),
];
