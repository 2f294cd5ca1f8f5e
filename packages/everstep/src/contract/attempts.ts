/** Wire schemas of the attempts of a run, with their requests, responses and durations. */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { ThrownError } from './fields/thrown-error.js';
import { FAILURE_CAUSES } from './runs.js';

const orNull = <Schema extends Type.TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { description });
const unixMs = Type.Integer({ format: 'int64' });

const Headers = Type.Record(Type.String(), Type.Array(Type.String()), {
  description:
    'Header names in canonical form, such as `Content-Type`. Values that may be secret are replaced with a placeholder.',
});

const SentRequestSchema = Type.Object(
  {
    method: Type.String(),
    url: Type.String(),
    headers: Headers,
    bodyBytes: orNull(Type.Integer(), 'Length of the body in bytes. Null when the body was not stored.'),
    body: orNull(Type.String(), 'Start of the body. Null when the body was not stored.'),
    bodyEncoding: Type.Enum(['utf8', 'base64'], { type: 'string', description: '`base64` when the body is not UTF-8 text.' }),
    rebuilt: Type.Boolean({
      description:
        'Whether the body is reconstructed from stored data. For a step, it contains the input of the run and the results recorded before the step. It is JSON, regardless of the format of the request.',
    }),
  },
  NO_OTHER_PROPERTIES,
);

const ReceivedResponse = Type.Object(
  {
    status: orNull(Type.Integer(), 'HTTP status. Null when only the result is known.'),
    headers: Headers,
    body: Type.String({
      description: 'Start of the body. For a successful attempt, the start of the result of the step.',
    }),
    bodyEncoding: Type.Enum(['utf8', 'base64'], { type: 'string', description: '`base64` when the body is not UTF-8 text.' }),
    bodyBytes: Type.Integer({ description: 'Length of the whole body in bytes.' }),
  },
  NO_OTHER_PROPERTIES,
);

export const ATTEMPT_KINDS = ['workflow', 'step', 'call', 'message', 'callback'] as const;

export const RunAttempt = Type.Object(
  {
    kind: Type.Enum([...ATTEMPT_KINDS], {
      type: 'string',
      description:
        'What the attempt did. `workflow`: called the endpoint so that its code continues. `step`: called the endpoint to execute a step. `call`: Everstep made the HTTP request of a call step. `message`: sent a plain message. `callback`: reported the failure of the run.',
    }),
    stepId: orNull(Type.Integer(), 'Position of the step. Null when the step is unknown.'),
    stepName: orNull(Type.String(), 'Name of the step. Null when the step is unknown.'),
    messageId: Type.String(),
    retried: Type.Integer({ description: 'Number of failed attempts of this message before this one.' }),
    startedAt: orNull(unixMs, 'Time when the request was sent, in Unix milliseconds. Null when it was not stored.'),
    at: Type.Integer({
      format: 'int64',
      description: 'Time when the attempt failed or its result was recorded, in Unix milliseconds.',
    }),
    durationMs: orNull(Type.Integer(), 'Duration of the attempt in milliseconds. Null when it was not stored.'),
    outcome: Type.Enum(['failed', 'succeeded'], { type: 'string' }),
    cause: orNull(Type.Enum([...FAILURE_CAUSES], { type: 'string' }), 'Why the attempt failed. Null when it succeeded.'),
    message: orNull(Type.String(), 'Error message. Null when the attempt succeeded.'),
    thrown: Type.Optional(ThrownError),
    request: orNull(
      SentRequestSchema,
      'The request. Null when nothing was sent or the request was not stored, for example by an earlier version. For a call that succeeded after failed attempts, it is the request of those attempts, which was identical.',
    ),
    response: orNull(ReceivedResponse, 'The response. Null when none was received or it was not stored.'),
    retryAt: orNull(unixMs, 'Time of the next attempt, in Unix milliseconds. Null when this was the last attempt.'),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One attempt of a run. Fields are null when they are unknown or do not apply.' },
);
export type RunAttempt = Static<typeof RunAttempt>;

export const RunAttempts = Type.Object(
  {
    cursor: Type.Optional(Type.String({ description: 'Cursor for the next page; absent when there are no more results.' })),
    attempts: Type.Array(RunAttempt, { description: 'Attempts in the order in which they ended, oldest first.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of attempts of a run.' },
);
export type RunAttempts = Static<typeof RunAttempts>;
