/** Wire schemas of every attempt of a run: what was sent, what came back, and how long it took. */
import Type, { type Static } from 'typebox';
import { FAILURE_CAUSES } from './runs.js';

const CLOSED = { additionalProperties: false } as const;
const orNull = <Schema extends Type.TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { description });
const unixMs = Type.Integer({ format: 'int64' });

const Headers = Type.Record(Type.String(), Type.Array(Type.String()), {
  description: 'Canonical names, such as `Content-Type`. The value of one that may be a secret is not kept, and says so.',
});

const SentRequestSchema = Type.Object(
  {
    method: Type.String(),
    url: Type.String(),
    headers: Headers,
    bodyBytes: orNull(Type.Integer(), 'Length of the body; null where it was not kept.'),
    body: orNull(Type.String(), 'Its beginning; null where it was not kept.'),
    bodyEncoding: Type.Enum(['utf8', 'base64'], { type: 'string', description: 'base64 where it is no UTF-8 text.' }),
    rebuilt: Type.Boolean({
      description:
        'Whether the body is made again from what is kept: of a step the input of the run and what was recorded before, as JSON, whatever the request was framed in.',
    }),
  },
  CLOSED,
);

const ReceivedResponse = Type.Object(
  {
    status: orNull(Type.Integer(), 'HTTP status; null where only the result is known.'),
    headers: Headers,
    body: Type.String({ description: 'Its beginning. Of an attempt that succeeded: the result of the step, or its beginning.' }),
    bodyEncoding: Type.Enum(['utf8', 'base64'], { type: 'string', description: 'base64 where it is no UTF-8 text.' }),
    bodyBytes: Type.Integer({ description: 'Length of the whole body.' }),
  },
  CLOSED,
);

export const ATTEMPT_KINDS = ['workflow', 'step', 'call', 'message', 'callback'] as const;

export const RunAttempt = Type.Object(
  {
    kind: Type.Enum([...ATTEMPT_KINDS], {
      type: 'string',
      description:
        'workflow: the endpoint was asked to go on; step: to execute a step; call: the service made the request of a step; message: the request that a plain message is; callback: the failure was told.',
    }),
    stepId: orNull(Type.Integer(), 'Position of the step; null where no step is known.'),
    stepName: orNull(Type.String(), 'Null where no step is known.'),
    messageId: Type.String(),
    retried: Type.Integer({ description: 'Failed attempts of this message before this one.' }),
    startedAt: orNull(unixMs, 'When it was sent, Unix ms; null where that was not kept.'),
    at: Type.Integer({ format: 'int64', description: 'When it failed, or the result was recorded, Unix ms' }),
    durationMs: orNull(Type.Integer(), 'How long it took; null where that was not kept.'),
    outcome: Type.Enum(['failed', 'succeeded'], { type: 'string' }),
    cause: orNull(Type.Enum([...FAILURE_CAUSES], { type: 'string' }), 'Null of one that succeeded.'),
    message: orNull(Type.String(), 'What went wrong, in words; null of one that succeeded.'),
    request: orNull(
      SentRequestSchema,
      'Null where it was not kept, as in versions before, or nothing was sent. Of a call that succeeded after failed attempts it is that of those, which was the same.',
    ),
    response: orNull(ReceivedResponse, 'Null where nothing came back, or it was not kept.'),
    retryAt: orNull(unixMs, 'When it was to be tried again, Unix ms; null when this was the last.'),
  },
  CLOSED,
);
export type RunAttempt = Static<typeof RunAttempt>;

export const RunAttempts = Type.Object(
  {
    cursor: Type.Optional(Type.String({ description: 'Where the next page begins; absent at the end.' })),
    attempts: Type.Array(RunAttempt, { description: 'By the time at which they ended, oldest first.' }),
  },
  CLOSED,
);
export type RunAttempts = Static<typeof RunAttempts>;
