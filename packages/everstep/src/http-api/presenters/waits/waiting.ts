/** Presents the reason why an active run is waiting. */
import { parseWorkerUrl } from '@everstep/sdk/protocol';
import type { Waiting } from '../../../contract/fields/wait-reason.js';
import type { RunWait } from '../../../runtime/services/workflow-service.js';
import { optional } from '../optional.js';
import { presentReason } from './explanation.js';

/** Returns a short description of the reason. */
function textOf(reason: RunWait['reason']): string {
  switch (reason.kind) {
    case 'not-before':
      return 'Waiting for its start time';
    case 'sleeping':
      return 'Waiting for a timer';
    case 'waiting-for-event': {
      const [firstEventId = '', ...otherEventIds] = reason.eventIds;
      const otherText = otherEventIds.length === 0 ? '' : ` or ${otherEventIds.length} more`;
      return `Waiting for event ${JSON.stringify(firstEventId)}${otherText}`;
    }
    case 'waiting-for-run':
      return `Waiting for run ${reason.workflowRunId}`;
    case 'retry':
      return `Waiting for retry ${reason.retry} of ${reason.maxRetries}`;
    case 'flow-control':
      return `Waiting for ${reason.because === 'paused' ? 'paused ' : ''}flow control key ${JSON.stringify(reason.key)}`;
    case 'queue':
      return `Waiting in ${reason.because === 'paused' ? 'paused ' : ''}queue ${JSON.stringify(reason.queue)}`;
    case 'destination-held':
      return `Waiting for held destination ${reason.hold.origin}`;
    case 'no-worker':
      return `Waiting for a worker of app ${parseWorkerUrl(reason.url)?.app ?? reason.url}`;
    case 'queued':
      return 'Waiting for a delivery slot';
  }
}

export function presentWaiting({ reason, stepName, otherTasks }: RunWait): Waiting {
  return {
    ...presentReason(reason, false, undefined),
    kind: reason.kind,
    text: textOf(reason),
    ...optional('stepName', stepName),
    ...optional('otherTasks', otherTasks === 0 ? null : otherTasks),
  };
}
