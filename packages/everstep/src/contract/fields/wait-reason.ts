/** Wire schemas of the reasons why a run is waiting. */
import Type, { type Static } from 'typebox';
import { WAIT_KINDS } from '../states.js';
import { NO_OTHER_PROPERTIES } from './no-other-properties.js';

const optionalUnixMs = (description: string, kind = '') =>
  Type.Optional(
    Type.Integer({ format: 'int64', description: `${kind === '' ? '' : `For ${kind}: `}${description}, in Unix milliseconds.` }),
  );

export const Reason = Type.Object(
  {
    kind: Type.Enum([...WAIT_KINDS, 'in-flight'], { type: 'string' }),
    message: Type.String({ description: 'One sentence that explains the reason.' }),
    at: optionalUnixMs('time when the delivery is due', '`not-before` and `retry`'),
    until: optionalUnixMs('time when the wait ends automatically', '`sleeping`, `waiting-for-event` and `flow-control`'),
    eventIds: Type.Optional(Type.Array(Type.String())),
    workflowRunId: Type.Optional(Type.String({ description: 'For `waiting-for-run`: id of the invoked run.' })),
    workflowCreatedAt: optionalUnixMs('time when the invoked run was created', '`waiting-for-run`'),
    retry: Type.Optional(Type.Integer({ description: 'Number of the next retry, starting at 1.' })),
    maxRetries: Type.Optional(Type.Integer()),
    error: Type.Optional(Type.String({ description: 'Why the last attempt failed.' })),
    flowControlKey: Type.Optional(Type.String()),
    place: Type.Optional(
      Type.Integer({ description: 'Position in the wait list of the flow control key or the queue, starting at 1.' }),
    ),
    waitListSize: Type.Optional(Type.Integer()),
    queueName: Type.Optional(Type.String({ description: 'For `queue`: name of the queue that the message is in.' })),
    because: Type.Optional(
      Type.Enum(
        ['parallelism', 'rate', 'paused', 'order', 'slots', 'plan', 'fair-share', 'long-deliveries', 'host', 'workers', 'memory'],
        {
          type: 'string',
          description: 'For `flow-control`, `queue` and `queued`: the limit that applies.',
        },
      ),
    ),
    origin: Type.Optional(Type.String({ description: 'For `destination-held`: scheme, host and port.' })),
    heldBy: Type.Optional(Type.Enum(['breaker', 'hand'], { type: 'string' })),
    heldSince: optionalUnixMs('time when the destination was held', '`destination-held`'),
    reason: Type.Optional(Type.String({ description: 'For `destination-held`: why the destination is held.' })),
    nextProbeAt: optionalUnixMs('time when the next probe delivery is sent', '`destination-held`'),
    since: optionalUnixMs('time since which no worker that serves the workflow has been connected', '`no-worker`'),
    url: Type.Optional(Type.String({ description: 'For `in-flight` and `no-worker`: URL of the request.' })),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Reason why a run is waiting. `kind` determines which other fields are present.' },
);
export type Reason = Static<typeof Reason>;

export const Waiting = Type.Object(
  {
    ...Reason.properties,
    kind: Type.Enum([...WAIT_KINDS], { type: 'string' }),
    text: Type.String({ description: 'What the run waits for in a few words, such as `Waiting for event "approved"`.' }),
    stepName: Type.Optional(Type.String({ description: 'Step that waits. Absent for the code between steps and for messages.' })),
    otherTasks: Type.Optional(
      Type.Integer({ description: 'Number of other pending tasks, which are also waiting. Absent when there are none.' }),
    ),
  },
  {
    ...NO_OTHER_PROPERTIES,
    description:
      'What an active run waits for: the reason that applies now to its first pending task. Absent while a request of the run is in flight or about to be sent, and when the run has ended.',
  },
);
export type Waiting = Static<typeof Waiting>;
