/** Presents flow control keys. */
import type { FlowControlEntry, FlowControlWaiter } from '../../contract/service.js';
import type { FlowControlStatus, KeyWaiter } from '../../runtime/services/workflow-service.js';
import { optional } from './optional.js';

function presentRate({ rate, periodMs, window }: FlowControlStatus, now: number): Partial<FlowControlEntry> {
  if (rate === null || periodMs === null) return {};
  const currentWindow = window !== null && window.startedAt + periodMs > now ? window : null;
  return {
    rateMax: rate,
    rateCount: currentWindow?.granted ?? 0,
    ratePeriod: periodMs / 1000,
    ...optional('ratePeriodStart', currentWindow && Math.floor(currentWindow.startedAt / 1000)),
  };
}

/** Presents a flow control key. `now` is in Unix ms. The count of a period that has ended is 0. */
export function presentFlowControl(status: FlowControlStatus, now: number): FlowControlEntry {
  return {
    flowControlKey: status.key,
    waitListSize: status.waiting,
    ...optional('parallelismMax', status.parallelism),
    parallelismCount: status.inFlight,
    ...presentRate(status, now),
    isPaused: status.paused,
    isPinnedParallelism: status.parallelismPinned && status.parallelism !== null,
    isPinnedRate: status.ratePinned && status.rate !== null,
  };
}

/** Presents a delivery that waits for a key. `index` starts at 0. */
export const presentKeyWaiter = ({ run, stepName, since }: KeyWaiter, index: number): FlowControlWaiter => ({
  kind: run.settings.message ? 'message' : 'workflow',
  workflowRunId: run.workflowRunId,
  workflowCreatedAt: run.createdAt,
  workflowUrl: run.workflowUrl,
  ...optional('stepName', stepName),
  since,
  place: index + 1,
});
