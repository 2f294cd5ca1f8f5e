/** Wire schemas of the answer to: why is this run where it is? */
import Type, { type Static } from 'typebox';
import { RunStateSchema, SHOWN_STEP_TYPES } from './runs.js';

const CLOSED = { additionalProperties: false } as const;
const unixMs = (description: string) => Type.Optional(Type.Integer({ format: 'int64', description: `${description}, Unix ms` }));

export const Reason = Type.Object(
  {
    kind: Type.Enum(
      [
        'not-before',
        'sleeping',
        'waiting-for-event',
        'waiting-for-run',
        'retry',
        'flow-control',
        'queue',
        'destination-held',
        'queued',
        'in-flight',
      ],
      { type: 'string' },
    ),
    message: Type.String({ description: 'One sentence for people.' }),
    at: unixMs('not-before, retry: when it is due'),
    until: unixMs('sleeping, waiting-for-event, flow-control: when that ends by itself'),
    eventIds: Type.Optional(Type.Array(Type.String())),
    workflowRunId: Type.Optional(Type.String({ description: 'waiting-for-run: the run that was invoked.' })),
    workflowCreatedAt: unixMs('Creation of that run'),
    retry: Type.Optional(Type.Integer({ description: 'Which retry it will be, from 1.' })),
    maxRetries: Type.Optional(Type.Integer()),
    error: Type.Optional(Type.String({ description: 'Why the last attempt failed.' })),
    flowControlKey: Type.Optional(Type.String()),
    place: Type.Optional(Type.Integer({ description: 'Place in the wait list of the key or of the queue, from 1.' })),
    waitListSize: Type.Optional(Type.Integer()),
    queueName: Type.Optional(Type.String({ description: 'queue: the queue that the message is in.' })),
    because: Type.Optional(
      Type.Enum(['parallelism', 'rate', 'paused', 'order', 'slots', 'plan', 'fair-share', 'long-deliveries', 'host', 'memory'], {
        type: 'string',
        description: 'flow-control, queue, queued: which limit it waits for.',
      }),
    ),
    origin: Type.Optional(Type.String({ description: 'destination-held: scheme, host and port.' })),
    heldBy: Type.Optional(Type.Enum(['breaker', 'hand'], { type: 'string' })),
    heldSince: unixMs('destination-held: since when'),
    reason: Type.Optional(Type.String({ description: 'destination-held: why.' })),
    nextProbeAt: unixMs('destination-held: when one delivery is let through next'),
    url: Type.Optional(Type.String({ description: 'in-flight: what is called.' })),
  },
  CLOSED,
);
export type Reason = Static<typeof Reason>;

const ExplainedTask = Type.Object(
  {
    stepId: Type.Optional(
      Type.Integer({ description: 'Absent for the code between steps, a plain message and a failure callback.' }),
    ),
    stepName: Type.Optional(Type.String()),
    stepType: Type.Optional(Type.Enum([...SHOWN_STEP_TYPES], { type: 'string' })),
    what: Type.Enum(['workflow', 'step', 'message', 'failure-callback'], { type: 'string' }),
    reasons: Type.Array(Reason, { description: 'What it waits for, in the order in which it has to come true.' }),
  },
  CLOSED,
);

export const ExplanationSchema = Type.Object(
  {
    workflowRunId: Type.String(),
    workflowCreatedAt: Type.Integer({ format: 'int64', description: 'Creation of the run, Unix ms' }),
    workflowState: RunStateSchema,
    summary: Type.String({ description: 'All of it in a few words.' }),
    tasks: Type.Array(ExplainedTask, { description: 'What the service owes the run; empty when it owes nothing.' }),
    shortened: Type.Optional(
      Type.Literal(true, { description: 'More is pending than the answer lists, because it would be too long.' }),
    ),
  },
  CLOSED,
);
export type ExplanationAnswer = Static<typeof ExplanationSchema>;
