/** Wire schemas of runs, their logs and their journals. */
import { STEP_TYPES } from '@everstep/sdk/protocol';
import Type, { type Static } from 'typebox';

const CLOSED = { additionalProperties: false } as const;
const unixMs = (description: string) => Type.Integer({ format: 'int64', description: `${description}, Unix ms` });

export const RUN_STATES = ['RUN_STARTED', 'RUN_SUCCESS', 'RUN_FAILED', 'RUN_CANCELED'] as const;
export const STEP_STATES = ['STEP_SUCCESS', 'STEP_PROGRESS', 'STEP_RETRY', 'STEP_FAILED', 'STEP_CANCELED'] as const;
/** The initial step is the run's own; all others come of the step protocol. */
export const SHOWN_STEP_TYPES = ['Initial', ...STEP_TYPES] as const;

/** Why an attempt failed. */
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

/** States of what tells of a failed run. */
export const FAILURE_FUNCTION_STATES = ['CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL', 'CALLBACK_CANCELED'] as const;

export type RunState = (typeof RUN_STATES)[number];
export type StepState = (typeof STEP_STATES)[number];

export const RunStateSchema = Type.Enum([...RUN_STATES], { type: 'string' });
const StepStateSchema = Type.Enum([...STEP_STATES], { type: 'string' });
const StepTypeSchema = Type.Enum([...SHOWN_STEP_TYPES], { type: 'string' });

/** Identity of a run: an id may be used again after the run ended, so the time of creation belongs to it. */
export const RunReferenceSchema = Type.Object(
  { workflowRunId: Type.String(), workflowCreatedAt: unixMs('Creation of the run') },
  { ...CLOSED, description: 'A run: its id, and when it was created.' },
);

export const TriggeredRun = Type.Object(
  {
    workflowRunId: Type.String(),
    workflowCreatedAt: unixMs('Creation of the run'),
    deduplicated: Type.Optional(
      Type.Literal(true, { description: 'No run was created: this one has the id, or the deduplication id, already.' }),
    ),
  },
  CLOSED,
);
export type TriggeredRun = Static<typeof TriggeredRun>;

/** The JSON value that the workflow returned. */
const ResultValue = Type.Unknown({ description: 'What the workflow returned, as JSON; absent when it returned nothing.' });

const whileItRuns = {
  workflowRunId: Type.String(),
  workflowCreatedAt: unixMs('Creation of the run'),
  deduplicated: Type.Optional(Type.Literal(true)),
};
export const RunUnderWay = Type.Object(
  { ...whileItRuns, workflowState: Type.Literal('RUN_STARTED') },
  { ...CLOSED, description: 'The run has not ended yet.' },
);
export const RunResult = Type.Object(
  {
    ...whileItRuns,
    workflowState: Type.Enum(['RUN_SUCCESS', 'RUN_FAILED', 'RUN_CANCELED'], { type: 'string' }),
    result: Type.Optional(ResultValue),
    error: Type.Optional(Type.String({ description: 'Why the run failed.' })),
  },
  { ...CLOSED, description: 'How the run ended: with a result, an error, or neither when it was canceled.' },
);
export type RunResult = Static<typeof RunResult>;

/** A failed attempt as the logs show it. */
export const AttemptError = Type.Object(
  {
    error: Type.String(),
    status: Type.Optional(Type.Integer({ description: 'HTTP status of the answer, when there was one.' })),
    time: unixMs('When the attempt failed'),
    retried: Type.Integer({ description: 'Failed attempts before this one.' }),
  },
  CLOSED,
);
export type AttemptError = Static<typeof AttemptError>;

/** Bytes of a value that an answer leaves out. */
const leftOut = (what: string, where: string) =>
  Type.Optional(
    Type.Integer({ description: `Bytes of ${what} that is left out because the answer would be too long; ${where}` }),
  );
const outFields = {
  out: Type.Optional(Type.String({ description: 'Result of the step as JSON text; absent when it has none.' })),
  outLeftOut: leftOut('a result', 'getRunStep returns it.'),
};

const editedField = {
  edited: Type.Optional(Type.Literal(true, { description: 'The result is not what the step came to: it was given in a fork.' })),
};

/** What belongs to one type of step each. */
const fieldsOfTypes = {
  sleepFor: Type.Optional(Type.Integer({ description: 'Length of a SleepFor, ms.' })),
  sleepUntil: Type.Optional(unixMs('When a sleep ends')),
  waitEventId: Type.Optional(
    Type.String({ description: 'The event that is waited for: the first of several, or the one that came.' }),
  ),
  waitEventIds: Type.Optional(Type.Array(Type.String(), { description: 'All of them, when several are waited for.' })),
  waitDeadline: Type.Optional(unixMs('When an open wait times out')),
  waitTimeout: Type.Optional(Type.Boolean({ description: 'Whether the wait timed out, once it has ended.' })),
  notifyEventId: Type.Optional(Type.String({ description: 'The event that an open Notify step is for.' })),
  callUrl: Type.Optional(Type.String({ description: 'Where an open Call step sends its request.' })),
  callMethod: Type.Optional(Type.String()),
  callResponseStatus: Type.Optional(Type.Integer({ description: 'Status of the answer to a Call; 0 when none came.' })),
  invokedWorkflowRunId: Type.Optional(Type.String({ description: 'The run that an Invoke step started.' })),
  invokedWorkflowCreatedAt: Type.Optional(unixMs('Creation of that run')),
  invokedWorkflowUrl: Type.Optional(Type.String({ description: 'What an Invoke step is about to start.' })),
};

export const LoggedStep = Type.Object(
  {
    stepId: Type.Optional(
      Type.Integer({ description: 'Position of the step; absent on the initial step and where it is not known yet.' }),
    ),
    stepName: Type.Optional(Type.String({ description: 'Absent where the step that is attempted is not known yet.' })),
    stepType: Type.Optional(StepTypeSchema),
    callType: Type.Literal('step'),
    messageId: Type.String(),
    ...outFields,
    ...editedField,
    concurrent: Type.Integer({ description: 'How many steps run concurrently in the group.' }),
    state: StepStateSchema,
    createdAt: unixMs('When the step was planned'),
    ...fieldsOfTypes,
    errors: Type.Optional(
      Type.Array(AttemptError, { description: 'Failed attempts, oldest first; absent when there were none.' }),
    ),
  },
  CLOSED,
);
export type LoggedStep = Static<typeof LoggedStep>;

export const StepGroup = Type.Object(
  {
    type: Type.Enum(['sequential', 'parallel', 'next'], {
      type: 'string',
      description: 'next: what is being attempted now.',
    }),
    steps: Type.Array(LoggedStep),
  },
  CLOSED,
);
export type StepGroup = Static<typeof StepGroup>;

/** What became of the run's DLQ entry. */
const RunSuccessor = Type.Object(
  {
    kind: Type.Enum(['resume', 'restart'], { type: 'string' }),
    workflowRunId: Type.String(),
    workflowCreatedAt: unixMs('Creation of the run'),
  },
  CLOSED,
);

/** Where a run came from that nobody triggered. */
const RunOriginLink = Type.Object(
  {
    kind: Type.Enum(['resume', 'restart', 'fork', 'invoke', 'schedule'], { type: 'string' }),
    workflowRunId: Type.Optional(Type.String({ description: 'The failed run, the forked one, or the one that invoked this.' })),
    workflowCreatedAt: Type.Optional(unixMs('Creation of that run')),
    dlqId: Type.Optional(Type.String({ description: 'The DLQ entry that the run was made from.' })),
    stepId: Type.Optional(Type.Integer({ description: 'The step that invoked the run, or from which the fork went on.' })),
    stepName: Type.Optional(Type.String()),
    scheduleId: Type.Optional(Type.String({ description: 'The schedule that started the run.' })),
    note: Type.Optional(Type.String({ description: 'Why the run was forked.' })),
    inputEdited: Type.Optional(
      Type.Literal(true, { description: 'It was triggered with something else than the run that it was forked from.' }),
    ),
  },
  CLOSED,
);
export type RunOriginLink = Static<typeof RunOriginLink>;

const InvokedRun = Type.Object(
  {
    stepId: Type.Integer(),
    workflowRunId: Type.String(),
    workflowCreatedAt: unixMs('Creation of the run'),
    workflowState: RunStateSchema,
  },
  CLOSED,
);

/** Attempts to tell of a run's failure. */
export const FailureFunctionInfo = Type.Object(
  {
    state: Type.Optional(
      Type.Enum([...FAILURE_FUNCTION_STATES], { type: 'string', description: 'Absent where only the attempts are known.' }),
    ),
    url: Type.String({ description: 'What is called: the failure callback, or the workflow for its failure function.' }),
    responseStatus: Type.Optional(Type.Integer({ description: 'Status of the last answer that was a failure.' })),
    retried: Type.Integer({ description: 'Failed attempts so far.' }),
    nextAttemptAt: Type.Optional(unixMs('When it is called next')),
    errors: Type.Array(AttemptError, { description: 'Failed attempts, oldest first.' }),
  },
  CLOSED,
);
export type FailureFunctionInfo = Static<typeof FailureFunctionInfo>;

const runFields = {
  workflowRunId: Type.String(),
  workflowUrl: Type.String(),
  workflowState: RunStateSchema,
  workflowRunCreatedAt: unixMs('Creation of the run'),
  workflowRunCompletedAt: Type.Optional(unixMs('End of the run')),
  workflowRunOrigin: Type.Optional(RunOriginLink),
  workflowRunBecame: Type.Optional(RunSuccessor),
  dlqId: Type.Optional(Type.String({ description: 'The DLQ entry that the run has now.' })),
  callerIP: Type.String(),
  label: Type.Optional(Type.String({ description: 'The first of the labels.' })),
  labels: Type.Array(Type.String()),
  flowControlKey: Type.Optional(Type.String()),
};
const historyFields = {
  invokedRuns: Type.Optional(
    Type.Array(InvokedRun, { description: 'Runs that steps of this one invoked; absent when there are none.' }),
  ),
  failureFunctionInfo: Type.Optional(FailureFunctionInfo),
};

export const RunLogEntry = Type.Object(
  {
    ...runFields,
    workflowRunResponse: Type.Optional(Type.String({ description: 'What the workflow returned, as JSON text.' })),
    workflowRunResponseLeftOut: leftOut('a response', 'getRunResult returns it.'),
    workflowRunError: Type.Optional(Type.String({ description: 'Why the run failed.' })),
    ...historyFields,
    steps: Type.Array(StepGroup),
    shortened: Type.Optional(
      Type.Literal(true, {
        description: 'Steps or failed attempts are left out because the answer would be too long; getRun returns all of them.',
      }),
    ),
  },
  CLOSED,
);
export type RunLogEntry = Static<typeof RunLogEntry>;

export const RunLogPage = Type.Object(
  {
    cursor: Type.Optional(Type.String({ description: 'Where the next page begins; absent at the end.' })),
    runs: Type.Array(RunLogEntry),
  },
  CLOSED,
);

export const FoundRun = Type.Object(
  { ...runFields, workflowRunError: Type.Optional(Type.String({ description: 'Why the run failed.' })) },
  { ...CLOSED, description: 'A run as the log shows it, without its steps and its result.' },
);
export type FoundRun = Static<typeof FoundRun>;

export const RunSearchPage = Type.Object(
  {
    cursor: Type.Optional(Type.String({ description: 'Where to look on; absent when all runs were looked at.' })),
    runs: Type.Array(FoundRun, { description: 'Newest first; may be empty though there is more to look at.' }),
    searchedUntil: Type.Union([Type.Integer({ format: 'int64' }), Type.Null()], {
      description: 'Creation of the oldest run that was looked at, Unix ms; null when there was none to look at.',
    }),
    complete: Type.Boolean({ description: 'Whether there is no further run to look at.' }),
  },
  CLOSED,
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
    group: Type.Integer({ description: 'Position of the first step that was planned together with this one.' }),
    concurrent: Type.Integer(),
    createdAt: unixMs('When the step was planned'),
    startedAt: Type.Optional(
      unixMs('When the attempt that succeeded was begun; absent where nobody was asked, as of a sleep, or that is not known'),
    ),
    completedAt: unixMs('When the result was recorded'),
    ...fieldsOfTypes,
  },
  CLOSED,
);

export type JournalStep = Static<typeof JournalStep>;

const OpenTask = Type.Object(
  {
    kind: Type.Enum(['advance', 'message', 'step', 'sleep', 'wait', 'call', 'notify', 'invoke', 'callback'], {
      type: 'string',
      description:
        'advance: the workflow is asked to go on; step: a planned step is executed; sleep: a time is waited for; wait: an event is waited for; call: an HTTP request is made; notify: those who wait are notified; invoke: the end of another run is waited for; callback: the failure is told.',
    }),
    stepId: Type.Optional(Type.Integer()),
    stepName: Type.Optional(Type.String()),
    stepType: Type.Optional(StepTypeSchema),
    messageId: Type.String(),
    retried: Type.Optional(Type.Integer({ description: 'Failed attempts so far.' })),
    dueAt: Type.Optional(unixMs('When it is acted on next; absent when the run has ended')),
    createdAt: unixMs('When it was planned'),
    ...fieldsOfTypes,
  },
  CLOSED,
);

const FailedAttemptSchema = Type.Object(
  {
    stepId: Type.Optional(Type.Integer({ description: 'Absent when the code between steps failed, or telling of the failure.' })),
    stepName: Type.Optional(Type.String()),
    messageId: Type.String(),
    retried: Type.Integer({ description: 'Failed attempts of this message before this one.' }),
    time: unixMs('When it failed'),
    cause: Type.Enum([...FAILURE_CAUSES], { type: 'string' }),
    error: Type.String(),
    status: Type.Optional(Type.Integer()),
    retryAt: Type.Optional(unixMs('When it is tried again; absent when this was the last attempt')),
  },
  CLOSED,
);

/** What a run was triggered with. */
export const RunInput = Type.Object(
  {
    header: Type.Record(Type.String(), Type.Array(Type.String()), { description: 'Headers that go to the workflow with it.' }),
    body: Type.Optional(Type.String({ description: 'What the run was triggered with, when that is UTF-8 text.' })),
    bodyBase64: Type.Optional(Type.String({ description: 'The same in base64, when it is no UTF-8 text.' })),
  },
  CLOSED,
);
export type RunInput = Static<typeof RunInput>;

export const RunJournal = Type.Object(
  {
    workflowCreatedAt: unixMs('Creation of the run'),
    ...runFields,
    maxRetries: Type.Integer(),
    retryDelay: Type.Optional(Type.String()),
    timeoutMs: Type.Integer({ description: 'How long one delivery may take, ms.' }),
    failureCallback: Type.Optional(Type.String()),
    input: Type.Optional(RunInput),
    result: Type.Optional(ResultValue),
    error: Type.Optional(Type.String({ description: 'Why the run failed.' })),
    steps: Type.Array(JournalStep, { description: 'In the order in which they were recorded.' }),
    tasks: Type.Array(OpenTask, { description: 'What the service still owes the run.' }),
    attempts: Type.Array(FailedAttemptSchema, { description: 'Failed attempts, oldest first.' }),
    keptEvents: Type.Optional(
      Type.Array(Type.Object({ eventId: Type.String(), receivedAt: unixMs('When it came') }, CLOSED), {
        description: 'Events that came before the run waited for them; absent when there are none.',
      }),
    ),
    ...historyFields,
  },
  CLOSED,
);
export type RunJournal = Static<typeof RunJournal>;

export const Cancelled = Type.Object(
  { cancelled: Type.Integer({ description: 'How many runs were canceled by this call.' }) },
  CLOSED,
);
