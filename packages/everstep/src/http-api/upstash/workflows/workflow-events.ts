/** Notifications and waiters: the native operations, with additional fields in the responses. */
import Type, { type Static } from 'typebox';
import { NotifiedWaiter, Waiter } from '../../../contract/events.js';
import type { Operation } from '../../operation.js';
import { listWaiters, notifyEvent, notifyRun, readEventId } from '../../operations/events/notify.js';
import { withStepRefusals } from './step-refusals.js';

const UpstashWaiter = Type.Object({
  ...Waiter.properties,
  timeoutUrl: Type.String({ description: 'URL that is notified when the wait times out: the workflow URL.' }),
  timeoutHeaders: Type.Record(Type.String(), Type.Array(Type.String())),
});
const UpstashNotifiedWaiter = Type.Object({
  ...NotifiedWaiter.properties,
  waiter: UpstashWaiter,
  error: Type.String({ description: 'Always empty: a waiter that could not be notified is not listed.' }),
});

const presentWaiter = (waiter: Waiter): Static<typeof UpstashWaiter> => ({
  ...waiter,
  timeoutUrl: waiter.url,
  timeoutHeaders: waiter.headers,
});
const presentNotifiedWaiter = (notifiedWaiter: NotifiedWaiter): Static<typeof UpstashNotifiedWaiter> => ({
  ...notifiedWaiter,
  waiter: presentWaiter(notifiedWaiter.waiter),
  error: '',
});

function upstashOperation<Native, Presented>(
  nativeOperation: Operation,
  operationId: string,
  responses: Operation['responses'],
  present: (item: Native) => Presented,
) {
  const operation: Operation = {
    ...nativeOperation,
    operationId,
    dialect: 'upstash',
    responses,
    async run(input, context, admitted) {
      const { status, body } = await nativeOperation.run(input, context, admitted);
      // The response schema of the native operation guarantees the type.
      return { status, body: (body as readonly Native[]).map(present) };
    },
  };
  return operation;
}

/** Prefix of the run ids that the published SDKs generate. */
const RUN_ID_PREFIX = 'wfr_';

/**
 * The SDK does not encode event ids, so `/v2/notify/order/42` can mean the run "order" or the event "order/42". It
 * means the run if the first part has the prefix of SDK run ids, or if a run with this id exists.
 */
const notifyRunOrEvent: Operation = {
  ...notifyRun,
  description: `${notifyRun.description} If no run has the id and it does not start with ${RUN_ID_PREFIX}, everything after /v2/notify/ is one event id, which contains a slash.`,
  async run(input, context, admitted) {
    const { workflowRunId, eventId } = input.path;
    if (admitted.access !== 'token') throw new Error('an event was notified without a token');
    const { instanceId } = admitted.caller;
    const runId = String(workflowRunId);
    if (runId.startsWith(RUN_ID_PREFIX) || (await context.reads.runs.findRun({ instanceId, workflowRunId: runId })))
      return notifyRun.run(input, context, admitted);
    const idWithSlash = withStepRefusals(() => readEventId(`${runId}/${eventId}`));
    return notifyEvent.run({ ...input, path: { eventId: idWithSlash } }, context, admitted);
  },
};

/** The SDK also notifies in steps, with the same request. It would treat the status 400 as the end of the run. */
const inStep = (operation: Operation): Operation => ({
  ...operation,
  errors: operation.errors.map((code) => (code === 'bad-parameter' ? 'steps-refused' : code)),
  pathErrorCode: 'steps-refused',
});

const NOTIFY_RESPONSES = { 200: Type.Array(UpstashNotifiedWaiter) };

export const workflowEventOperations: readonly Operation[] = [
  upstashOperation(inStep(notifyEvent), 'notifyWorkflows', NOTIFY_RESPONSES, presentNotifiedWaiter),
  upstashOperation(inStep(notifyRunOrEvent), 'notifyWorkflowRun', NOTIFY_RESPONSES, presentNotifiedWaiter),
  upstashOperation(listWaiters, 'getWorkflowWaiters', { 200: Type.Array(UpstashWaiter) }, presentWaiter),
];
