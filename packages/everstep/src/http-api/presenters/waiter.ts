/** Presents runs that wait for an event. */
import type { EventWaiter, NotifiedWaiter, Waiter } from '../../contract/events.js';
import { DIALECTS } from '../../dialects/index.js';
import type { RunRecord, WaiterRecord } from '../../ports/stores/store.js';
import type { NotifiedRun } from '../../runtime/services/workflow-service.js';

function waiterOf(run: Pick<RunRecord, 'dialect' | 'workflowRunId' | 'workflowUrl'>, deadline: number): Waiter {
  const { spell } = DIALECTS[run.dialect];
  const headers = {
    [spell('Workflow-Runid')]: [run.workflowRunId],
    [spell('Workflow-Url')]: [run.workflowUrl],
  };
  return { url: run.workflowUrl, headers, deadline };
}

export const presentWaiter = (waiter: WaiterRecord): Waiter => waiterOf(waiter, Math.floor(waiter.deadlineAt / 1000));

export const presentEventWaiter = (waiter: WaiterRecord): EventWaiter => ({
  eventId: waiter.eventId,
  ...presentWaiter(waiter),
  workflowRunId: waiter.workflowRunId,
  workflowCreatedAt: waiter.workflowCreatedAt,
  workflowUrl: waiter.workflowUrl,
  stepName: waiter.stepName,
  since: waiter.since,
  deadlineAt: waiter.deadlineAt,
});

export const presentNotifiedWaiter = ({ waiter, messageId }: NotifiedRun): NotifiedWaiter => ({
  waiter: presentWaiter(waiter),
  messageId,
});

/** Presents the run for which an event was stored, because it does not wait for the event yet. */
export const presentStoredEvent = (run: RunRecord, messageId: string): NotifiedWaiter => ({
  waiter: waiterOf(run, 0),
  messageId,
  kept: true,
});
