/** Wire schemas of runs, their logs and their journals. */
import { STEP_TYPES } from '@everstep/sdk/protocol';
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { ThrownError } from './fields/thrown-error.js';
import { unixMs } from './fields/unix-ms.js';
import { Waiting } from './fields/wait-reason.js';
import { FAILURE_FUNCTION_STATES, RUN_STATES, STEP_STATES } from './states.js';
import { MissingWorker } from './workers/workers.js';

/** Step types that the API shows: the initial step and the types of the step protocol. */
export const SHOWN_STEP_TYPES = ['Initial', ...STEP_TYPES] as const;

/** Causes of a failed attempt. */
export const FAILURE_CAUSES = [
  'network',
  'timeout',
  'http',
  'step',
  'workflow',
  'not-protocol',
  'refused',
  'blocked-address',
] as const;

export const RunStateSchema = Type.Enum([...RUN_STATES], { type: 'string', description: 'State of a run.' });
const StepStateSchema = Type.Enum([...STEP_STATES], { type: 'string', description: 'State of a step.' });
export const ShownStepType = Type.Enum([...SHOWN_STEP_TYPES], {
  type: 'string',
  description: 'Type of a step. `Initial` is the start of the run.',
});
const StepTypeSchema = Type.Enum([...STEP_TYPES], { type: 'string', description: 'Type of a step.' });

/** Identifies a run. An id can be used again after its run has ended, so the creation time is part of the identity. */
export const RunReferenceSchema = Type.Object(
  { workflowRunId: Type.String(), workflowCreatedAt: unixMs('Time when the run was created') },
  { ...NO_OTHER_PROPERTIES, description: 'Identifies a run by its id and creation time.' },
);

const deduplicated = Type.Optional(
  Type.Literal(true, { description: 'No run was created, because a run with this id or deduplication id already exists.' }),
);

export const TriggeredRun = Type.Object(
  {
    workflowRunId: Type.String(),
    workflowCreatedAt: unixMs('Time when the run was created'),
    deduplicated,
    noWorker: Type.Optional(MissingWorker),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Started run.' },
);
export type TriggeredRun = Static<typeof TriggeredRun>;

const ResultValue = Type.Unknown({ description: 'Value that the workflow returned, as JSON. Absent when it returned nothing.' });

const runIdentity = {
  workflowRunId: Type.String(),
  workflowCreatedAt: unixMs('Time when the run was created'),
  deduplicated,
};
export const ActiveRun = Type.Object(
  { ...runIdentity, noWorker: Type.Optional(MissingWorker), workflowState: Type.Literal('RUN_STARTED') },
  { ...NO_OTHER_PROPERTIES, description: 'The run has not ended, or the response does not contain its result.' },
);
export const RunResult = Type.Object(
  {
    ...runIdentity,
    workflowState: Type.Enum(['RUN_SUCCESS', 'RUN_FAILED', 'RUN_CANCELED'], { type: 'string' }),
    result: Type.Optional(ResultValue),
    error: Type.Optional(Type.String({ description: 'Why the run failed.' })),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Outcome of the run: a result, an error, or neither when it was canceled.' },
);
export type RunResult = Static<typeof RunResult>;

/** Failed attempt in a run log. */
export const AttemptError = Type.Object(
  {
    error: Type.String(),
    status: Type.Optional(Type.Integer({ description: 'HTTP status of the response. Absent when there was no response.' })),
    time: unixMs('Time when the attempt failed'),
    retried: Type.Integer({ description: 'Number of failed attempts before this one.' }),
    thrown: Type.Optional(ThrownError),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Failed attempt, as logs show it.' },
);
export type AttemptError = Static<typeof AttemptError>;

/** Returns the schema of the size in bytes of a value that a response omits. */
const omittedBytes = (subject: string, source: string) =>
  Type.Optional(
    Type.Integer({
      description: `Size in bytes of ${subject} that is omitted because the response would be too long. ${source}`,
    }),
  );
const outFields = {
  out: Type.Optional(Type.String({ description: 'Result of the step as JSON text. Absent when the step has no result.' })),
  outLeftOut: omittedBytes('a result', '`getRunStep` returns it.'),
};

const editedField = {
  edited: Type.Optional(Type.Literal(true, { description: 'The result was edited in a fork.' })),
};

export const StepFields = Type.Object(
  {
    sleepFor: Type.Optional(Type.Integer({ description: 'Duration of a `SleepFor` step, in milliseconds.' })),
    sleepUntil: Type.Optional(unixMs('Time when a sleep ends')),
    waitEventId: Type.Optional(
      Type.String({ description: 'Event that the step waits for. With several events: the first one, or the one that arrived.' }),
    ),
    waitEventIds: Type.Optional(
      Type.Array(Type.String(), { description: 'All events that the step waits for, when there are several.' }),
    ),
    waitDeadline: Type.Optional(unixMs('Time when a pending wait times out')),
    waitTimeout: Type.Optional(Type.Boolean({ description: 'Whether the wait timed out. Present when the wait has ended.' })),
    notifyEventId: Type.Optional(Type.String({ description: 'Event that a pending `Notify` step sends.' })),
    callUrl: Type.Optional(Type.String({ description: 'URL of a pending `Call` step.' })),
    callMethod: Type.Optional(Type.String()),
    callResponseStatus: Type.Optional(
      Type.Integer({ description: 'HTTP status of the response to a `Call` step. 0 when there was no response.' }),
    ),
    invokedWorkflowRunId: Type.Optional(Type.String({ description: 'Id of the run that an `Invoke` step started.' })),
    invokedWorkflowCreatedAt: Type.Optional(unixMs('Time when that run was created')),
    invokedWorkflowUrl: Type.Optional(Type.String({ description: 'URL of the workflow that a pending `Invoke` step starts.' })),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Fields that depend on the type of the step.' },
);

export const LoggedStep = Type.Object(
  {
    stepId: Type.Optional(
      Type.Integer({ description: 'Position of the step. Absent on the initial step and while the position is unknown.' }),
    ),
    stepName: Type.Optional(
      Type.String({ description: 'Name of the step. Absent while it is unknown which step is attempted.' }),
    ),
    stepType: Type.Optional(ShownStepType),
    callType: Type.Literal('step'),
    messageId: Type.String(),
    ...outFields,
    ...editedField,
    concurrent: Type.Integer({ description: 'Number of steps in the group that run concurrently.' }),
    state: StepStateSchema,
    createdAt: unixMs('Time when the step was planned'),
    ...StepFields.properties,
    errors: Type.Optional(
      Type.Array(AttemptError, { description: 'Failed attempts, oldest first. Absent when there are none.' }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Step as the run log shows it.' },
);
export type LoggedStep = Static<typeof LoggedStep>;

export const StepGroup = Type.Object(
  {
    type: Type.Enum(['sequential', 'parallel', 'next'], {
      type: 'string',
      description: '`next`: the steps that are currently being attempted.',
    }),
    steps: Type.Array(LoggedStep),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Steps that were planned together.' },
);
export type StepGroup = Static<typeof StepGroup>;

/** Run that was created from the dead letter entry of this run. */
const RunSuccessor = Type.Object(
  {
    kind: Type.Enum(['resume', 'restart'], { type: 'string' }),
    workflowRunId: Type.String(),
    workflowCreatedAt: unixMs('Time when the run was created'),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Run that a failed run was resumed or restarted as.' },
);

/** Origin of a run that was not triggered directly. */
const RunOriginLink = Type.Object(
  {
    kind: Type.Enum(['resume', 'restart', 'fork', 'invoke', 'schedule'], { type: 'string' }),
    workflowRunId: Type.Optional(
      Type.String({ description: 'Id of the failed run, the forked run, or the run that invoked this one.' }),
    ),
    workflowCreatedAt: Type.Optional(unixMs('Time when that run was created')),
    dlqId: Type.Optional(Type.String({ description: 'Id of the dead letter entry from which the run was created.' })),
    stepId: Type.Optional(Type.Integer({ description: 'Step that invoked the run, or from which the fork continued.' })),
    stepName: Type.Optional(Type.String()),
    scheduleId: Type.Optional(Type.String({ description: 'Id of the schedule that started the run.' })),
    note: Type.Optional(Type.String({ description: 'Reason for the fork.' })),
    inputEdited: Type.Optional(Type.Literal(true, { description: 'The payload differs from the payload of the original run.' })),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Origin of a run that was not started by a trigger.' },
);
export type RunOriginLink = Static<typeof RunOriginLink>;

const InvokedRun = Type.Object(
  {
    stepId: Type.Integer(),
    workflowRunId: Type.String(),
    workflowCreatedAt: unixMs('Time when the run was created'),
    workflowState: RunStateSchema,
  },
  { ...NO_OTHER_PROPERTIES, description: 'Run that a step invoked.' },
);

/** Attempts to report the failure of a run. */
export const FailureFunctionInfo = Type.Object(
  {
    state: Type.Optional(
      Type.Enum([...FAILURE_FUNCTION_STATES], {
        type: 'string',
        description: 'State of the failure callback. Absent when only the attempts are known.',
      }),
    ),
    url: Type.String({ description: 'URL that is called: the failure callback, or the workflow for its failure function.' }),
    responseStatus: Type.Optional(Type.Integer({ description: 'HTTP status of the last failed response.' })),
    retried: Type.Integer({ description: 'Number of failed attempts so far.' }),
    nextAttemptAt: Type.Optional(unixMs('Time of the next attempt')),
    errors: Type.Array(AttemptError, { description: 'Failed attempts, oldest first.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Attempts to report the failure of a run to its failure callback or failure function.' },
);
export type FailureFunctionInfo = Static<typeof FailureFunctionInfo>;

const runFields = {
  workflowRunId: Type.String(),
  workflowUrl: Type.String(),
  workflowState: RunStateSchema,
  workflowRunCreatedAt: unixMs('Time when the run was created'),
  workflowRunCompletedAt: Type.Optional(unixMs('Time when the run ended')),
  workflowRunOrigin: Type.Optional(RunOriginLink),
  workflowRunBecame: Type.Optional(RunSuccessor),
  dlqId: Type.Optional(Type.String({ description: 'Id of the current dead letter entry of the run.' })),
  callerIP: Type.String(),
  label: Type.Optional(Type.String({ description: 'First label of the run.' })),
  labels: Type.Array(Type.String()),
  flowControlKey: Type.Optional(Type.String()),
  waiting: Type.Optional(Waiting),
};
const historyFields = {
  invokedRuns: Type.Optional(
    Type.Array(InvokedRun, { description: 'Runs that steps of this run invoked. Absent when there are none.' }),
  ),
  failureFunctionInfo: Type.Optional(FailureFunctionInfo),
};
export const RunFields = Type.Object(
  { ...runFields, ...historyFields },
  { ...NO_OTHER_PROPERTIES, description: 'Fields of a run that the run log and its journal show.' },
);

export const RunLogEntry = Type.Object(
  {
    ...RunFields.properties,
    workflowRunResponse: Type.Optional(Type.String({ description: 'Value that the workflow returned, as JSON text.' })),
    workflowRunResponseLeftOut: omittedBytes('a response', '`getRunResult` returns it.'),
    workflowRunError: Type.Optional(Type.String({ description: 'Why the run failed.' })),
    steps: Type.Array(StepGroup),
    shortened: Type.Optional(
      Type.Literal(true, {
        description: 'Steps or failed attempts are omitted because the response would be too long. `getRun` returns all of them.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Run as the run log shows it.' },
);
export type RunLogEntry = Static<typeof RunLogEntry>;

export const RunLogPage = Type.Object(
  {
    cursor: Type.Optional(Type.String({ description: 'Cursor for the next page; absent when there are no more results.' })),
    runs: Type.Array(RunLogEntry),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of the run log.' },
);

export const FoundRun = Type.Object(
  { ...runFields, workflowRunError: Type.Optional(Type.String({ description: 'Why the run failed.' })) },
  { ...NO_OTHER_PROPERTIES, description: 'Run as in the run log, without its steps and its result.' },
);
export type FoundRun = Static<typeof FoundRun>;

export const RunSearchPage = Type.Object(
  {
    cursor: Type.Optional(Type.String({ description: 'Cursor for the next page. Absent when all runs were searched.' })),
    runs: Type.Array(FoundRun, {
      description: 'Matching runs, newest first. May be empty although there are more runs to search.',
    }),
    searchedUntil: Type.Union([Type.Integer({ format: 'int64' }), Type.Null()], {
      description:
        'Creation time of the oldest run that was searched, in Unix milliseconds. Null when there was no run to search.',
    }),
    complete: Type.Boolean({ description: 'Whether all runs were searched.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of a search over runs.' },
);
export type RunSearchPage = Static<typeof RunSearchPage>;

export const JournalStep = Type.Object(
  {
    stepId: Type.Integer(),
    stepName: Type.String(),
    stepType: StepTypeSchema,
    messageId: Type.String(),
    ...outFields,
    ...editedField,
    group: Type.Integer({ description: 'Position of the first step that was planned together with this step.' }),
    concurrent: Type.Integer(),
    createdAt: unixMs('Time when the step was planned'),
    startedAt: Type.Optional(
      unixMs(
        'Time when the successful attempt started',
        'Absent when it is unknown and when no endpoint was called, for example for a sleep.',
      ),
    ),
    completedAt: unixMs(
      'Time when the result was recorded',
      'For a step that was recorded together with the steps after it (a checkpoint), the time when it ended.',
    ),
    ...StepFields.properties,
  },
  { ...NO_OTHER_PROPERTIES, description: 'Recorded step.' },
);

export type JournalStep = Static<typeof JournalStep>;

const PendingTask = Type.Object(
  {
    kind: Type.Enum(['advance', 'message', 'step', 'sleep', 'wait', 'call', 'notify', 'invoke', 'callback'], {
      type: 'string',
      description:
        'Type of the task. `advance`: call the workflow so that its code continues. `step`: execute a planned step. `sleep`: wait until a time. `wait`: wait for an event. `call`: make an HTTP request. `notify`: notify the waiters of an event. `invoke`: wait for the end of another run. `callback`: report the failure of the run.',
    }),
    stepId: Type.Optional(Type.Integer()),
    stepName: Type.Optional(Type.String()),
    stepType: Type.Optional(StepTypeSchema),
    messageId: Type.String(),
    retried: Type.Optional(Type.Integer({ description: 'Number of failed attempts so far.' })),
    dueAt: Type.Optional(unixMs('Time when the task is due', 'Absent when the run has ended.')),
    createdAt: unixMs('Time when the task was planned'),
    ...StepFields.properties,
  },
  { ...NO_OTHER_PROPERTIES, description: 'Pending task of a run.' },
);

const FailedAttemptSchema = Type.Object(
  {
    stepId: Type.Optional(
      Type.Integer({ description: 'Position of the step. Absent when the code between steps or the failure callback failed.' }),
    ),
    stepName: Type.Optional(Type.String()),
    messageId: Type.String(),
    retried: Type.Integer({ description: 'Number of failed attempts of this message before this one.' }),
    time: unixMs('Time when the attempt failed'),
    cause: Type.Enum([...FAILURE_CAUSES], { type: 'string' }),
    error: Type.String(),
    status: Type.Optional(Type.Integer()),
    startedAt: Type.Optional(
      unixMs('Time when the request was sent', 'Only in a page of a journal. Absent when nothing was sent or it is unknown.'),
    ),
    retryAt: Type.Optional(unixMs('Time of the next attempt', 'Absent when this was the last attempt.')),
    thrown: Type.Optional(ThrownError),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Failed attempt of a delivery.' },
);

/** Payload and headers that the run was triggered with. */
export const RunInput = Type.Object(
  {
    header: Type.Record(Type.String(), Type.Array(Type.String()), { description: 'Headers that are forwarded to the workflow.' }),
    body: Type.Optional(Type.String({ description: 'Payload, when it is UTF-8 text.' })),
    bodyBase64: Type.Optional(Type.String({ description: 'Payload in Base64, when it is not UTF-8 text.' })),
  },
  NO_OTHER_PROPERTIES,
);
export type RunInput = Static<typeof RunInput>;

export const RunJournal = Type.Object(
  {
    workflowCreatedAt: unixMs('Time when the run was created'),
    ...RunFields.properties,
    maxRetries: Type.Integer(),
    retryDelay: Type.Optional(Type.String()),
    timeoutMs: Type.Integer({ description: 'Maximum duration of one delivery, in milliseconds.' }),
    failureCallback: Type.Optional(Type.String()),
    input: Type.Optional(RunInput),
    result: Type.Optional(ResultValue),
    error: Type.Optional(Type.String({ description: 'Why the run failed.' })),
    steps: Type.Array(JournalStep, { description: 'Steps in the order in which they were recorded.' }),
    tasks: Type.Array(PendingTask, { description: 'Pending tasks of the run.' }),
    attempts: Type.Array(FailedAttemptSchema, { description: 'Failed attempts, oldest first.' }),
    keptEvents: Type.Optional(
      Type.Array(
        Type.Object({ eventId: Type.String(), receivedAt: unixMs('Time when the event arrived') }, NO_OTHER_PROPERTIES),
        {
          description: 'Events that arrived before the run waited for them. Absent when there are none.',
        },
      ),
    ),
    cursor: Type.Optional(
      Type.String({
        description:
          'Only with `count`: continues after the steps and failed attempts of this page. Also present on the last page: use it later to request new entries.',
      }),
    ),
    complete: Type.Optional(
      Type.Boolean({ description: 'Only with `count`: there are no more steps and failed attempts after this page.' }),
    ),
    moreTasks: Type.Optional(
      Type.Literal(true, { description: 'Only with `count`: the run has more pending tasks than the page shows.' }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Run with its journal, pending tasks and failed attempts.' },
);
export type RunJournal = Static<typeof RunJournal>;

export const CanceledRuns = Type.Object(
  { cancelled: Type.Integer({ description: 'Number of runs that this request canceled.' }) },
  NO_OTHER_PROPERTIES,
);
