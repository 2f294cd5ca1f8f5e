/** Why a run is where it is, in sentences and in fields. */
import { STEP_TYPES, type StepType } from '@everstep/sdk/protocol';
import type { ExplanationAnswer, Reason } from '../../contract/explanation.js';
import type { Redaction } from '../../engine/run.js';
import type { ExplainedTask, Explanation, QueuedBecause, WaitReason } from '../../runtime/workflow-service.js';
import { optional } from './optional.js';
import { shownUrl } from './redaction.js';
import { presentReference, stateOfRun } from './run.js';

const isoOf = (ms: number): string => new Date(ms).toISOString();
const quoted = (texts: readonly string[]): string => texts.map((text) => JSON.stringify(text)).join(' or ');
const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

type FlowControlReason = Extract<WaitReason, { readonly kind: 'flow-control' }>;

function flowControlMessage({ key, place, waiting, because, until }: FlowControlReason): string {
  const where = `It is number ${place} of ${waiting} that wait for the flow control key ${JSON.stringify(key)}`;
  const why = {
    paused: 'which is paused until somebody resumes it',
    parallelism: 'which has as many in flight as it may',
    rate: 'which has started as many in this window as it may',
  }[because];
  return `${where}, ${why}${until === null ? '' : `; the next may go at ${isoOf(until)}`}.`;
}

const NO_SLOT: Readonly<Record<QueuedBecause, string>> = {
  slots: 'all of them are in use',
  plan: 'the queue instance has as many deliveries in flight as its plan allows',
  'fair-share': 'the account has its fair share of them in flight',
  'long-deliveries': 'its timeout is long, and the account has its fair share of such deliveries in flight',
  host: 'as many deliveries to its host are in flight as allowed',
  memory: 'the events and requests that its run carries need more memory than is free for its account',
};

const queuedMessage = (because: QueuedBecause | null): string =>
  `It is due and waits for a delivery slot${because === null ? '' : `: ${NO_SLOT[because]}`}.`;

/** A step that calls shows where only if the run does not redact what that was made of. */
function presentReason(reason: WaitReason, isCall: boolean, redact: Redaction | undefined): Reason {
  const { kind } = reason;
  switch (kind) {
    case 'not-before':
      return { kind, message: `It is not to begin before ${isoOf(reason.at)}.`, at: reason.at };
    case 'sleeping':
      return { kind, message: `It sleeps until ${isoOf(reason.until)}.`, until: reason.until };
    case 'waiting-for-event':
      return {
        kind,
        message: `It waits for the event ${quoted(reason.eventIds)}, until ${isoOf(reason.until)} at the latest.`,
        eventIds: [...reason.eventIds],
        until: reason.until,
      };
    case 'waiting-for-run':
      return {
        kind,
        message: `It waits for the end of the run ${JSON.stringify(reason.workflowRunId)}, which it invoked.`,
        workflowRunId: reason.workflowRunId,
        workflowCreatedAt: reason.workflowCreatedAt,
      };
    case 'retry': {
      const { retry, maxRetries, at, error } = reason;
      const failed = error === null ? '' : ` The attempt before failed: ${sentence(error)}`;
      return {
        kind,
        message: `Retry ${retry} of ${maxRetries}, due at ${isoOf(at)}.${failed}`,
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
      const where = `It is number ${place} of ${waiting} that wait in the queue ${JSON.stringify(queue)}`;
      const why = because === 'paused' ? 'which is paused' : 'where those before it have to end first';
      return { kind, message: `${where}, ${why}.`, queueName: queue, place, waitListSize: waiting, because };
    }
    case 'destination-held': {
      const { origin, by, reason: why, since } = reason.hold;
      const who = by === 'hand' ? 'was held back by hand' : 'is held back because it keeps failing';
      const probe = reason.probeAt === null ? '' : ` One delivery is let through at ${isoOf(reason.probeAt)} to see.`;
      return {
        kind,
        message: `${origin} ${who}, since ${isoOf(since)}: ${sentence(why)}${probe}`,
        origin,
        heldBy: by,
        heldSince: since,
        reason: why,
        ...optional('nextProbeAt', reason.probeAt),
      };
    }
    case 'queued':
      return { kind, message: queuedMessage(reason.because ?? null), ...optional('because', reason.because ?? null) };
    case 'in-flight': {
      const url = isCall ? shownUrl(reason.url, redact) : reason.url;
      return { kind, message: `The request to ${url} is under way.`, url };
    }
  }
}

const isStepType = (text: string): text is StepType => STEP_TYPES.some((type) => type === text);

function presentTask(task: ExplainedTask, redact: Redaction | undefined): ExplanationAnswer['tasks'][number] {
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
  workflow: 'The code of the workflow is asked to go on',
  step: 'A step is open',
  message: 'The message is to be delivered',
  'failure-callback': 'The run has failed, and its failure callback is owed',
};
const ENDS: Readonly<Record<Explanation['run']['status'], string>> = {
  active: 'The run is active, and owes nothing at this moment: it is being worked on.',
  succeeded: 'The run has succeeded; nothing is owed.',
  failed: 'The run has failed; nothing is owed.',
  canceled: 'The run was canceled; nothing is owed.',
};

function subjectOf({ what, stepName }: ExplanationAnswer['tasks'][number]): string {
  return what === 'step' && stepName !== undefined ? `The step ${JSON.stringify(stepName)} is open` : SUBJECTS[what];
}

/** What many of a kind do: of one, of several. */
const DOING: Readonly<Record<Reason['kind'] | 'parked', readonly [one: string, several: string]>> = {
  'not-before': ['is to begin later', 'are to begin later'],
  sleeping: ['sleeps', 'sleep'],
  'waiting-for-event': ['waits for an event', 'wait for an event'],
  'waiting-for-run': ['waits for a run', 'wait for a run'],
  retry: ['waits for its next attempt', 'wait for their next attempt'],
  'flow-control': ['waits for a flow control key', 'wait for a flow control key'],
  queue: ['waits in a queue', 'wait in a queue'],
  'destination-held': ['waits for a destination that is held back', 'wait for a destination that is held back'],
  queued: ['waits for a delivery slot', 'wait for a delivery slot'],
  'in-flight': ['is under way', 'are under way'],
  parked: ['is held back', 'are held back'],
};

function summaryOf(tasks: ExplanationAnswer['tasks'], status: Explanation['run']['status']): string {
  const [first, ...others] = tasks;
  if (!first) return ENDS[status];
  if (others.length === 0) return `${subjectOf(first)}. ${first.reasons.map(({ message }) => message).join(' ')}`.trim();
  const counts = new Map<keyof typeof DOING, number>();
  for (const { reasons } of tasks) {
    const kind = reasons[0]?.kind ?? 'parked';
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const doing = [...counts].map(([kind, count]) => `${count} ${DOING[kind][count === 1 ? 0 : 1]}`);
  return `${tasks.length} things are open: ${doing.join(', ')}.`;
}

export function presentExplanation({ run, tasks, shortened }: Explanation): ExplanationAnswer {
  const shown = tasks.map((task) => presentTask(task, run.settings.redact));
  return {
    ...presentReference(run),
    workflowState: stateOfRun(run.status),
    summary: summaryOf(shown, run.status),
    tasks: shown,
    ...optional('shortened', shortened),
  };
}
