/** Notifications and waiters: the operations of our own, whose answers have fields more here. */
import Type, { type Static } from 'typebox';
import { NotifiedWaiter, Waiter } from '../../../contract/events.js';
import type { Operation } from '../../../http-api/operation.js';
import { listWaiters, notifyEvent, notifyRun } from '../../../http-api/operations/notify.js';

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

const NOTIFIED = { 200: Type.Array(NotifiedHere) };

export const workflowEventOperations: readonly Operation[] = [
  here(notifyEvent, 'notifyWorkflows', NOTIFIED, notifiedHere),
  here(notifyRun, 'notifyWorkflowRun', NOTIFIED, notifiedHere),
  here(listWaiters, 'getWorkflowWaiters', { 200: Type.Array(WaiterHere) }, waiterHere),
];
