/** Presents explanations of why a run is waiting, as sentences and as fields. */
import { parseWorkerUrl, STEP_TYPES, type StepType } from '@everstep/sdk/protocol';
import type { ExplanationResponse, Reason } from '../../../contract/explanation.js';
import type { Redaction } from '../../../engine/runs/run.js';
import type { ExplainedTask, Explanation, NoSlotReason, WaitReason } from '../../../runtime/services/workflow-service.js';
import { optional } from '../optional.js';
import { redactUrl } from '../redaction.js';
import { presentReference, stateOfRun } from '../run.js';

const isoOf = (ms: number): string => new Date(ms).toISOString();
const quoteAll = (texts: readonly string[]): string => texts.map((text) => JSON.stringify(text)).join(' or ');
const endSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

type FlowControlReason = Extract<WaitReason, { readonly kind: 'flow-control' }>;

function flowControlMessage({ key, place, waiting, because, until }: FlowControlReason): string {
  const position = `Position ${place} of ${waiting} in the wait list of the flow control key ${JSON.stringify(key)}`;
  const cause = {
    paused: 'the key is paused until it is resumed',
    parallelism: 'the key has reached its parallelism limit',
    rate: 'the key has reached its rate limit for this period',
  }[because];
  return `${position}: ${cause}${until === null ? '' : `; the next delivery can start at ${isoOf(until)}`}.`;
}

const NO_SLOT_CAUSES: Readonly<Record<NoSlotReason, string>> = {
  slots: 'all slots are in use',
  plan: 'the queue instance has reached the parallelism limit of its plan',
  'fair-share': 'the account has used its fair share of slots',
  'long-deliveries': 'the delivery has a long timeout, and the account has used its fair share of long deliveries',
  host: 'the limit of concurrent deliveries to its host has been reached',
  workers: 'all slots of the workers that serve the workflow are in use',
  memory: 'the events and requests that its run sends need more memory than its account has available',
};

const queuedMessage = (because: NoSlotReason | null): string =>
  `Due, waiting for a delivery slot${because === null ? '' : `: ${NO_SLOT_CAUSES[because]}`}.`;

/** Presents a reason. The URL of a call is hidden if the run redacts the data that it depends on. */
export function presentReason(reason: WaitReason, isCall: boolean, redact: Redaction | undefined): Reason {
  const { kind } = reason;
  switch (kind) {
    case 'not-before':
      return { kind, message: `Scheduled to start at ${isoOf(reason.at)}.`, at: reason.at };
    case 'sleeping':
      return { kind, message: `Sleeping until ${isoOf(reason.until)}.`, until: reason.until };
    case 'waiting-for-event':
      return {
        kind,
        message: `Waiting for the event ${quoteAll(reason.eventIds)} until ${isoOf(reason.until)}.`,
        eventIds: [...reason.eventIds],
        until: reason.until,
      };
    case 'waiting-for-run':
      return {
        kind,
        message: `Waiting for the invoked run ${JSON.stringify(reason.workflowRunId)} to end.`,
        workflowRunId: reason.workflowRunId,
        workflowCreatedAt: reason.workflowCreatedAt,
      };
    case 'retry': {
      const { retry, maxRetries, at, error } = reason;
      const failureText = error === null ? '' : ` The previous attempt failed: ${endSentence(error)}`;
      return {
        kind,
        message: `Retry ${retry} of ${maxRetries}, due at ${isoOf(at)}.${failureText}`,
        retry,
        maxRetries,
        at,
        ...optional('error', error),
      };
    }
    case 'flow-control':
      return {
        kind,
        message: flowControlMessage(reason),
        flowControlKey: reason.key,
        place: reason.place,
        waitListSize: reason.waiting,
        because: reason.because,
        ...optional('until', reason.until),
      };
    case 'queue': {
      const { queue, place, waiting, because } = reason;
      const position = `Position ${place} of ${waiting} in the queue ${JSON.stringify(queue)}`;
      const cause = because === 'paused' ? 'the queue is paused' : 'earlier messages must end first';
      return { kind, message: `${position}: ${cause}.`, queueName: queue, place, waitListSize: waiting, because };
    }
    case 'destination-held': {
      const { origin, by, reason: cause, since } = reason.hold;
      const holdText =
        by === 'hand'
          ? `has been held manually since ${isoOf(since)}`
          : `has been held since ${isoOf(since)} because it fails repeatedly`;
      const probe = reason.probeAt === null ? '' : ` The next probe is sent at ${isoOf(reason.probeAt)}.`;
      return {
        kind,
        message: `${origin} ${holdText}: ${endSentence(cause)}${probe}`,
        origin,
        heldBy: by,
        heldSince: since,
        reason: cause,
        ...optional('nextProbeAt', reason.probeAt),
      };
    }
    case 'no-worker': {
      const { url, since } = reason;
      const app = parseWorkerUrl(url)?.app ?? url;
      return {
        kind,
        message: `No worker for app ${app} that serves ${url} has been connected since ${isoOf(since)}.`,
        url,
        since,
      };
    }
    case 'queued':
      return { kind, message: queuedMessage(reason.because ?? null), ...optional('because', reason.because ?? null) };
    case 'in-flight': {
      const url = isCall ? redactUrl(reason.url, redact) : reason.url;
      return { kind, message: `The request to ${url} is in flight.`, url };
    }
  }
}

const isStepType = (text: string): text is StepType => STEP_TYPES.some((type) => type === text);

function presentTask(task: ExplainedTask, redact: Redaction | undefined): ExplanationResponse['tasks'][number] {
  const { stepId, stepName, stepType, what } = task;
  return {
    ...optional('stepId', stepId),
    ...optional('stepName', stepName),
    ...optional('stepType', stepType !== undefined && isStepType(stepType) ? stepType : null),
    what,
    reasons: task.reasons.map((reason) => presentReason(reason, stepType === 'Call', redact)),
  };
}

const SUBJECTS: Readonly<Record<ExplainedTask['what'], string>> = {
  workflow: 'Pending: call to the workflow',
  step: 'Pending: step',
  message: 'Pending: delivery of the message',
  'failure-callback': 'The run failed. Pending: failure callback',
};
const SUMMARIES_WITHOUT_TASKS: Readonly<Record<Explanation['run']['status'], string>> = {
  active: 'The run is active and is being processed; nothing is pending.',
  succeeded: 'The run succeeded; nothing is pending.',
  failed: 'The run failed; nothing is pending.',
  canceled: 'The run was canceled; nothing is pending.',
};

function subjectOf({ what, stepName }: ExplanationResponse['tasks'][number]): string {
  return what === 'step' && stepName !== undefined ? `Pending: step ${JSON.stringify(stepName)}` : SUBJECTS[what];
}

/** Descriptions of tasks by their reason, in the singular and the plural. Tasks without a reason are pending. */
const ACTIVITIES: Readonly<Record<Reason['kind'] | 'pending', readonly [singular: string, plural: string]>> = {
  'not-before': ['is scheduled for later', 'are scheduled for later'],
  sleeping: ['sleeps', 'sleep'],
  'waiting-for-event': ['waits for an event', 'wait for an event'],
  'waiting-for-run': ['waits for a run', 'wait for a run'],
  retry: ['waits for a retry', 'wait for a retry'],
  'flow-control': ['waits for a flow control key', 'wait for a flow control key'],
  queue: ['waits in a queue', 'wait in a queue'],
  'destination-held': ['waits for a held destination', 'wait for a held destination'],
  'no-worker': ['waits for a worker', 'wait for a worker'],
  queued: ['waits for a delivery slot', 'wait for a delivery slot'],
  'in-flight': ['is in flight', 'are in flight'],
  pending: ['is pending', 'are pending'],
};

function summaryOf(tasks: ExplanationResponse['tasks'], status: Explanation['run']['status']): string {
  const [firstTask, ...otherTasks] = tasks;
  if (!firstTask) return SUMMARIES_WITHOUT_TASKS[status];
  if (otherTasks.length === 0)
    return `${subjectOf(firstTask)}. ${firstTask.reasons.map(({ message }) => message).join(' ')}`.trim();
  const counts = new Map<keyof typeof ACTIVITIES, number>();
  for (const { reasons } of tasks) {
    const kind = reasons[0]?.kind ?? 'pending';
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const activities = [...counts].map(([kind, count]) => `${count} ${ACTIVITIES[kind][count === 1 ? 0 : 1]}`);
  return `${tasks.length} tasks are pending: ${activities.join(', ')}.`;
}

export function presentExplanation({ run, tasks, shortened }: Explanation): ExplanationResponse {
  const presentedTasks = tasks.map((task) => presentTask(task, run.settings.redact));
  return {
    ...presentReference(run),
    workflowState: stateOfRun(run.status),
    summary: summaryOf(presentedTasks, run.status),
    tasks: presentedTasks,
    ...optional('shortened', shortened),
  };
}
